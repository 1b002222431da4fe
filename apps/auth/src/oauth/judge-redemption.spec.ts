import { judgeRedemption, type CodeProof, type CodeState, type Verdict } from './judge-redemption';

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const OTHER = CHALLENGE.replace('E9', 'F9');

const USED_AT = new Date('2027-01-01T00:00:10Z');
const BEFORE = new Date('2027-01-01T00:00:09.999Z');
const AFTER = new Date('2027-01-01T00:00:10.001Z');

const fresh: CodeState = {
  isExpired: false,
  usedAt: null,
  failedAttempts: 0,
  challenge: CHALLENGE,
  challengeMethod: 'S256',
};
const good: CodeProof = { challenge: CHALLENGE, challengeMethod: null, receivedAt: AFTER };
const open: Partial<CodeState> = { challenge: null, challengeMethod: null };

describe(judgeRedemption.name, () => {
  it.each<[string, Partial<CodeState>, Partial<CodeProof>, Verdict]>([
    ['the right verifier', {}, {}, 'redeemed'],
    ['the right verifier and method', {}, { challengeMethod: 'S256' }, 'redeemed'],
    ['no verifier for a code without a challenge', open, { challenge: null }, 'redeemed'],
    ['a fifth try', { failedAttempts: 4 }, {}, 'redeemed'],
    ['a wrong verifier', {}, { challenge: OTHER }, 'wrong-proof'],
    ['a verifier of another length', {}, { challenge: CHALLENGE.slice(1) }, 'wrong-proof'],
    ['no verifier', {}, { challenge: null }, 'wrong-proof'],
    ['a verifier for a code without a challenge', open, {}, 'wrong-proof'],
    ['another method', {}, { challengeMethod: 'plain' }, 'wrong-method'],
    ['a method for a code without a challenge', open, { challengeMethod: 'S256' }, 'wrong-method'],
    ['a code that has run out', { isExpired: true }, {}, 'refused'],
    ['a code after five wrong proofs', { failedAttempts: 5 }, {}, 'refused'],
    ['a code that was used before', { usedAt: USED_AT }, {}, 'replayed'],
    ['a used code with a wrong verifier', { usedAt: USED_AT }, { challenge: OTHER }, 'replayed'],
    ['a copy of the request that used it', { usedAt: USED_AT }, { receivedAt: BEFORE }, 'refused'],
  ])('judges %s', (_what, code, proof, verdict) => {
    expect(judgeRedemption({ ...fresh, ...code }, { ...good, ...proof })).toBe(verdict);
  });
});
