import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(__dirname, '..');

/** Each says in its comment why it is global. */
const GLOBAL_MODULES = [
  'libs/persistence/src/persistence.module.ts',
  'libs/platform/src/health/platform.module.ts',
  'libs/platform/src/messaging/messaging.module.ts',
];

describe('modules', () => {
  it('say in their imports what they need, except for what each process has once', () => {
    const modules = globSync('{apps,libs}/*/src/**/*.module.ts', { cwd: root });
    expect(modules.length).toBeGreaterThan(30);
    const isGlobal = (file: string): boolean => /@Global\(|global: true/.test(readFileSync(join(root, file), 'utf8'));
    expect(modules.filter(isGlobal).toSorted()).toEqual(GLOBAL_MODULES);
  });
});
