import { FAILPOINTS } from '@libs/failpoints';

interface ArmedFailpoint {
  readonly name: string;
  readonly pass: number;
}

const { readFailpoint } = require('./die-at-failpoint.cjs') as {
  readFailpoint: (text: string, names: readonly string[]) => ArmedFailpoint;
};

describe(readFailpoint.name, () => {
  it('reads a name and a pass', () => {
    expect(readFailpoint('video-submitted:kill9@12', FAILPOINTS)).toEqual({ name: 'video-submitted', pass: 12 });
  });

  it.each([
    'batch-stored',
    'batch-stored:kill9',
    'batch-stored:kill9@0',
    'batch-stored:kill9@01',
    'batch-stored:kill9@1.5',
    'batch-stored:exit@1',
    'no-such-point:kill9@1',
    ' batch-stored:kill9@1',
    'batch-stored:kill9@1,batch-accepted:kill9@1',
  ])('refuses %p and says what would be right', (text) => {
    expect(() => readFailpoint(text, FAILPOINTS)).toThrow(/^FAILPOINT must be NAME:kill9@PASS, /);
  });
});
