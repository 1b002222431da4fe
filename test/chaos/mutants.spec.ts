import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/checkout';
import { mutants } from './mutants';

describe('the mutants', () => {
  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))(
    '%s still has its place in the code',
    (_name, mutant) => {
      const text = readFileSync(join(root, mutant.file), 'utf8');
      expect(text.split(mutant.find)).toHaveLength(2);
      expect(mutant.replace).not.toBe(mutant.find);
      const specs = ['.spec.ts', '.int-spec.ts', '-spec.ts', '.repository.spec.ts']
        .map((end) => join(root, mutant.spec + end))
        .filter((file) => existsSync(file));
      expect(specs).not.toEqual([]);
    },
  );
});
