import { FAILPOINTS } from '@libs/failpoints';
import { filesLike, readMarkdown, readRepositoryFile, sectionOf, tableRowsOf } from './markdown';

const rows = tableRowsOf(sectionOf(readMarkdown('docs/failpoints.md'), 'Where they are')).map((cells) =>
  cells.map((cell) => cell.replaceAll('`', '')),
);

/** `path name` of every call in the product. */
const calls = filesLike('{apps,libs,tools}/**/*.ts')
  .filter((path) => !/spec\.ts$|^libs\/failpoints\//.test(path))
  .flatMap((path) =>
    [...readRepositoryFile(path).matchAll(/\bfailpoint\(\s*(.*?)\s*,?\s*\)/g)].map(
      ([, name = '']) => `${path} ${name}`,
    ),
  );

describe('the failpoints in docs/failpoints.md', () => {
  it('are those of the library', () => {
    expect(rows.map(([, name]) => name)).toEqual([...FAILPOINTS]);
  });

  it('have all the numbers from F1 to F22', () => {
    const numbers = new Set(rows.map(([number]) => number));
    expect([...numbers]).toEqual(Array.from({ length: 22 }, (_, index) => `F${index + 1}`));
  });

  it('are each called once, where the page says', () => {
    expect(calls.toSorted()).toEqual(rows.map(([, name, , path]) => `${path} '${name}'`).toSorted());
  });
});
