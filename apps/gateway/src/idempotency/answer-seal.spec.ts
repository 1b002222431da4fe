import { PLAIN_ANSWERS, sealedAnswers } from './answer-seal';

const SLOT = { organizationId: 'org', route: 'POST /byok', keyHash: Buffer.alloc(32, 7) };
const BODY = Buffer.from('{"key":"a provider key"}');
const ANSWER = Buffer.from('{"data":{"id":"a code"}}');

describe(sealedAnswers.name, () => {
  const ours = sealedAnswers('sk-ours', SLOT);

  it('opens what the same caller sealed for the same slot, and shows nothing of it', () => {
    const kept = ours.keep(ANSWER);
    expect(kept.includes('a code')).toBe(false);
    expect(ours.keep(ANSWER).equals(kept)).toBe(false);
    expect(sealedAnswers('sk-ours', { ...SLOT }).read(kept)).toEqual(ANSWER);
  });

  it.each([
    ['another credential', sealedAnswers('sk-theirs', SLOT)],
    ['another organization', sealedAnswers('sk-ours', { ...SLOT, organizationId: 'other' })],
    ['another route', sealedAnswers('sk-ours', { ...SLOT, route: 'POST /videos' })],
    ['another key', sealedAnswers('sk-ours', { ...SLOT, keyHash: Buffer.alloc(32, 8) })],
  ])('neither opens nor recognises with %s', (_what, other) => {
    expect(() => other.read(ours.keep(ANSWER))).toThrow('Internal error');
    expect(other.digest(BODY).equals(ours.digest(BODY))).toBe(false);
  });

  it('refuses what was changed, cut or emptied', () => {
    const kept = ours.keep(ANSWER);
    for (const at of [0, 15, kept.length - 1]) {
      const changed = Buffer.from(kept);
      changed[at]! ^= 1;
      expect(() => ours.read(changed)).toThrow('Internal error');
    }
    for (const length of [0, 10, kept.length - 1]) {
      expect(() => ours.read(kept.subarray(0, length))).toThrow('Internal error');
    }
  });

  it('tells one body from another', () => {
    expect(ours.digest(BODY)).toHaveLength(32);
    expect(ours.digest(BODY).equals(ours.digest(Buffer.from('{}')))).toBe(false);
    expect(PLAIN_ANSWERS.digest(BODY).equals(ours.digest(BODY))).toBe(false);
  });
});
