import { runInNewContext } from 'node:vm';

const { withoutFailpoints } = require('./failpoint-calls.cjs') as { withoutFailpoints: (program: string) => string };

const PROGRAM = `"use strict";
const failpoints_1 = require("@libs/failpoints");
const relay_1 = require("./relay");
async function store(rows) {
    await relay_1.save(rows);
    (0, failpoints_1.failpoint)('batch-stored');
    if (rows.length > 1)
        (0, failpoints_1.failpoint)('batch-accepted');
    return rows;
}
(0, failpoints_1.armFailpoint)();
`;

describe('a production build', () => {
  it('has neither the calls of failpoints nor their import, and every line where it was', () => {
    const stripped = withoutFailpoints(PROGRAM);
    expect(stripped).not.toMatch(/failpoint/i);
    expect(stripped.split('\n').length).toBe(PROGRAM.split('\n').length);
    expect(stripped.split('\n')[8]).toBe('    return rows;');
  });

  it('leaves a branch whose only statement was a failpoint without an effect, and what follows outside of it', async () => {
    const saved: number[][] = [];
    const require = (): object => ({ save: (rows: number[]) => saved.push(rows) });
    const program = `(() => { ${withoutFailpoints(PROGRAM)} return store; })()`;
    const store = runInNewContext(program, { require }) as (rows: number[]) => Promise<number[]>;
    expect(await store([1])).toEqual([1]);
    expect(saved).toEqual([[1]]);
  });

  it('is the same program where there are none', () => {
    expect(withoutFailpoints('const a = 1;\n')).toBe('const a = 1;\n');
  });

  it('changes nothing any more when it is built again', () => {
    const once = withoutFailpoints(PROGRAM);
    expect(withoutFailpoints(once)).toBe(once);
  });

  it.each([
    `const failpoints_1 = require("@libs/failpoints");\nconst passed = (0, failpoints_1.failpoint)('batch-stored');`,
    `const failpoints_1 = require("@libs/failpoints");\n(0, failpoints_1.failpoint)(nameOf(batch));`,
    `const points = require("@libs/failpoints");`,
    `const { FAILPOINT } = process.env;`,
  ])('is refused when something of a failpoint would stay: %s', (program) => {
    expect(() => withoutFailpoints(program)).toThrow('a failpoint must be a statement of its own');
  });
});
