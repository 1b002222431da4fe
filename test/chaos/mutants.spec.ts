import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/checkout';
import { editsOf } from './mutant';
import { mutants } from './mutants';

describe('the mutants', () => {
  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))(
    '%s still has its place in the code',
    (_name, mutant) => {
      for (const { file, find, replace } of editsOf(mutant)) {
        const text = readFileSync(join(root, file), 'utf8');
        expect(text.split(find)).toHaveLength(2);
        expect(replace).not.toBe(find);
      }
      const specs = ['.spec.ts', '.int-spec.ts', '-spec.ts', '.repository.spec.ts']
        .map((end) => join(root, mutant.spec + end))
        .filter((file) => existsSync(file));
      expect(specs).not.toEqual([]);
    },
  );
});
