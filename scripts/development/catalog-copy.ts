import { cpSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SANDBOX_DEFAULT_PORT } from './port-plan';

/**
 * Returns the catalogue to run with: the repository's own or, if the sandbox provider listens on another port than in
 * the catalogue, a copy in `.sluice` with the right port. After a change of `catalog/`, `up` must then be restarted.
 */
export function catalogFor(root: string, stateFolder: string, sandboxPort: number): string {
  const original = join(root, 'catalog');
  if (sandboxPort === SANDBOX_DEFAULT_PORT || !existsSync(original)) return original;
  const copy = join(stateFolder, 'catalog', String(sandboxPort));
  rmSync(copy, { recursive: true, force: true });
  cpSync(original, copy, { recursive: true });
  const sandboxAddress = new RegExp(`(//(?:127\\.0\\.0\\.1|localhost)):${SANDBOX_DEFAULT_PORT}\\b`, 'g');
  for (const name of readdirSync(copy, { recursive: true, encoding: 'utf8' })) {
    if (!/\.ya?ml$/.test(name)) continue;
    const file = join(copy, name);
    const text = readFileSync(file, 'utf8');
    const changed = text.replace(sandboxAddress, `$1:${sandboxPort}`);
    if (changed !== text) writeFileSync(file, changed);
  }
  return copy;
}
