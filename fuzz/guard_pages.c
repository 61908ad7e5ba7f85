/* Every block of posix_memalign, which torch takes tensors from, ends at a page that cannot be touched.

   Preloaded into the process of a fuzz target (LD_PRELOAD): one element read or written beyond the end of a tensor is a
   segmentation fault at that instruction, and so is any use of a tensor that was freed. Blocks are never reused.
   Bytes between the end of a block and the page, which exist only for sizes that are no multiple of the alignment,
   carry a pattern that is compared when the block is freed. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL
#define ARENA (1UL << 40)
#define PATTERN 0xa5

struct block { uint64_t pages, size; };

static char *arena;
static struct block *blocks; /* by the page that a block begins in */
static uint64_t next_page = 1;
static void (*real_free)(void *);

static int ready(void) {
    static int state; /* 0 new, 1 ready, 2 failed */
    if (!state) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        arena = mmap(NULL, ARENA, PROT_NONE, flags, -1, 0);
        blocks = mmap(NULL, ARENA / PAGE * sizeof *blocks, PROT_READ | PROT_WRITE, flags, -1, 0);
        state = arena == MAP_FAILED || blocks == MAP_FAILED ? 2 : 1;
    }
    return state == 1;
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    if (!ready()) return ENOMEM;
    if (alignment > 64) alignment = 64;
    uint64_t room = (size + alignment - 1) / alignment * alignment;
    uint64_t pages = room ? (room + PAGE - 1) / PAGE : 1;
    uint64_t first = __atomic_fetch_add(&next_page, pages + 1, __ATOMIC_RELAXED);
    if ((first + pages + 1) * PAGE > ARENA) return ENOMEM;
    char *start = arena + first * PAGE;
    if (mprotect(start, pages * PAGE, PROT_READ | PROT_WRITE)) return ENOMEM;
    char *block = start + pages * PAGE - room;
    memset(block + size, PATTERN, room - size);
    blocks[(block - arena) / PAGE] = (struct block){pages, size};
    *out = block;
    return 0;
}

void free(void *pointer) {
    char *block = pointer;
    if (!arena || block < arena || block >= arena + ARENA) {
        if (!real_free) real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
        real_free(pointer);
        return;
    }
    struct block *entry = &blocks[(block - arena) / PAGE];
    char *start = (char *)((uintptr_t)block & ~(PAGE - 1));
    for (char *at = block + entry->size; at < start + entry->pages * PAGE; at++)
        if ((unsigned char)*at != PATTERN) abort();
    madvise(start, entry->pages * PAGE, MADV_DONTNEED);
    mprotect(start, entry->pages * PAGE, PROT_NONE);
}
