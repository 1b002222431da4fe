import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createDocument } from './document';

const FILE = 'apps/gateway/src/openapi/openapi.json';

/** Writes the document of the public API; with `--check`, fails if that would change it. */
function main(): void {
  const root = resolve(process.argv[1]!, '../../../../..');
  const file = join(root, FILE);
  const text = `${JSON.stringify(createDocument(root), null, 1)}\n`;
  if (!process.argv.includes('--check')) return writeFileSync(file, text);
  if (readFileSync(file, 'utf8') === text) return;
  process.stderr.write(`${FILE} is not what the code says. Write it anew: npm run openapi\n`);
  process.exitCode = 1;
}

main();
