import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

describe('the modules of the gateway', () => {
  it('say in their imports what they need, so that none of them is global', () => {
    const modules = globSync('**/*.module.ts', { cwd: __dirname });
    expect(modules.length).toBeGreaterThan(10);
    const global = modules.filter((file) => readFileSync(join(__dirname, file), 'utf8').includes('@Global('));
    expect(global).toEqual([]);
  });
});
