/* Forbids a process the network below Python: loaded by LD_PRELOAD, it stands before the C library's own functions.

   The rules are those of sitecustomize.py: loopback addresses and Unix sockets only, and no look-up of a name or, in
   reverse, of an address. What was tried goes into the file FORBIDDEN_NETWORK_LOG. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void note(const char *what, const char *of) {
    const char *path = getenv("FORBIDDEN_NETWORK_LOG");
    char line[512];
    if (path == NULL) return;
    int length = snprintf(line, sizeof line, "%s(%s) in the C code of process %d\n", what, of, (int)getpid());
    int log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log < 0) return;
    if (write(log, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1) < 0) perror(path);
    close(log);
}

static int allowed(const struct sockaddr *to, char *shown) {
    strcpy(shown, "?");
    if (to == NULL) return 1;
    if (to->sa_family == AF_INET) {
        const struct in_addr *address = &((const struct sockaddr_in *)to)->sin_addr;
        unsigned int number = ntohl(address->s_addr);
        inet_ntop(AF_INET, address, shown, INET6_ADDRSTRLEN);
        return number >> 24 == 127 || number == 0;
    }
    if (to->sa_family == AF_INET6) {
        const struct in6_addr *address = &((const struct sockaddr_in6 *)to)->sin6_addr;
        inet_ntop(AF_INET6, address, shown, INET6_ADDRSTRLEN);
        return IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address) ||
               (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
    }
    return 1;
}

static int needs_look_up(const char *name) {
    unsigned char address[sizeof(struct in6_addr)];
    char head[INET6_ADDRSTRLEN + 1];
    if (name == NULL || *name == 0 || strcmp(name, "localhost") == 0) return 0;
    snprintf(head, sizeof head, "%s", name);
    head[strcspn(head, "%")] = 0;
    return inet_pton(AF_INET, head, address) != 1 && inet_pton(AF_INET6, head, address) != 1;
}

int connect(int one, const struct sockaddr *to, socklen_t length) {
    char shown[INET6_ADDRSTRLEN];
    if (allowed(to, shown)) return NEXT(connect)(one, to, length);
    note("connect", shown);
    errno = ENETUNREACH;
    return -1;
}

ssize_t sendto(int one, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t length) {
    char shown[INET6_ADDRSTRLEN];
    if (allowed(to, shown)) return NEXT(sendto)(one, data, size, flags, to, length);
    note("sendto", shown);
    errno = ENETUNREACH;
    return -1;
}

ssize_t sendmsg(int one, const struct msghdr *message, int flags) {
    char shown[INET6_ADDRSTRLEN];
    if (allowed(message->msg_name, shown)) return NEXT(sendmsg)(one, message, flags);
    note("sendmsg", shown);
    errno = ENETUNREACH;
    return -1;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    if (!needs_look_up(name)) return NEXT(getaddrinfo)(name, service, hints, found);
    note("getaddrinfo", name);
    return EAI_AGAIN;
}

int getnameinfo(const struct sockaddr *of, socklen_t length, char *host, socklen_t host_length, char *service,
                socklen_t service_length, int flags) {
    char shown[INET6_ADDRSTRLEN];
    allowed(of, shown);
    if (host == NULL || flags & NI_NUMERICHOST || (of->sa_family != AF_INET && of->sa_family != AF_INET6))
        return NEXT(getnameinfo)(of, length, host, host_length, service, service_length, flags);
    note("getnameinfo", shown);
    return EAI_AGAIN;
}

struct hostent *gethostbyname(const char *name) {
    if (!needs_look_up(name)) return NEXT(gethostbyname)(name);
    note("gethostbyname", name);
    h_errno = TRY_AGAIN;
    return NULL;
}

int gethostbyname_r(const char *name, struct hostent *into, char *room, size_t size, struct hostent **found,
                    int *problem) {
    if (!needs_look_up(name)) return NEXT(gethostbyname_r)(name, into, room, size, found, problem);
    note("gethostbyname_r", name);
    *found = NULL;
    *problem = TRY_AGAIN;
    return EAGAIN;
}

struct hostent *gethostbyaddr(const void *address, socklen_t length, int family) {
    (void)address, (void)length, (void)family;
    note("gethostbyaddr", "an address");
    h_errno = TRY_AGAIN;
    return NULL;
}

int gethostbyaddr_r(const void *address, socklen_t length, int family, struct hostent *into, char *room, size_t size,
                    struct hostent **found, int *problem) {
    (void)address, (void)length, (void)family, (void)into, (void)room, (void)size;
    note("gethostbyaddr_r", "an address");
    *found = NULL;
    *problem = TRY_AGAIN;
    return EAGAIN;
}
