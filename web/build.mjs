// Bundles the pages: src/graph.ts and src/system.ts become one script each in src/tremula/view/assets.
// The first line of a bundle holds the hash of all sources, so that a test without node sees a stale one.
// `node build.mjs FOLDER` writes the bundles elsewhere.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, '..', 'src', 'tremula', 'view', 'assets');

// path, a zero byte, content, a zero byte, of each file in the order of the paths; the Python test does the same
function sourceHash() {
  const files = ['build.mjs', 'package-lock.json', 'package.json', 'tsconfig.json'];
  for (const entry of readdirSync(join(here, 'src'), { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && entry.name.endsWith('.ts')) {
      files.push(relative(here, join(entry.parentPath, entry.name)).split(sep).join('/'));
    }
  }
  const hash = createHash('sha256');
  for (const file of files.sort()) {
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(here, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

const hash = sourceHash();
mkdirSync(target, { recursive: true });
for (const name of ['graph', 'system']) {
  const result = await build({
    entryPoints: [join(here, 'src', `${name}.ts`)],
    absWorkingDir: here,
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    charset: 'ascii',
    legalComments: 'none',
    logLevel: 'warning',
  });
  const code = result.outputFiles[0].text.replaceAll('</script', '<\\/script');
  writeFileSync(join(target, `${name}.js`), `// made from web/src by "make web"; sources sha256:${hash}\n${code}`);
  console.log(`${name}.js: ${(code.length / 1024).toFixed(1)} KiB`);
}
