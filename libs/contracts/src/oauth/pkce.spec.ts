import { challengeOf, isCodeChallenge, storedChallenge } from './pkce';

/** RFC 7636, appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

describe('proof keys', () => {
  it('have the challenge of the example in the RFC', () => {
    expect(challengeOf(VERIFIER)).toBe(CHALLENGE);
  });

  it('are kept in the form that hides the verifier, whatever the method', () => {
    expect(storedChallenge(CHALLENGE, 'S256')).toBe(CHALLENGE);
    expect(storedChallenge(VERIFIER, 'plain')).toBe(CHALLENGE);
  });

  it.each([
    ['S256', 'a'.repeat(43), true],
    ['S256', 'a'.repeat(42), false],
    ['S256', 'a'.repeat(44), false],
    ['S256', `${'a'.repeat(42)}=`, false],
    ['S256', `${'a'.repeat(42)}+`, false],
    ['S256', `${'a'.repeat(42)}é`, false],
    ['S256', `${'a'.repeat(43)}\n`, false],
    ['plain', '~.-_'.repeat(11), true],
    ['plain', 'a'.repeat(43), true],
    ['plain', 'a'.repeat(128), true],
    ['plain', 'a'.repeat(42), false],
    ['plain', 'a'.repeat(129), false],
    ['plain', `${'a'.repeat(43)}/`, false],
    ['plain', null, false],
  ] as const)('%s: whether %p is a challenge is %p', (method, challenge, expected) => {
    expect(isCodeChallenge(challenge, method)).toBe(expected);
  });
});
