import type { Claims } from './claims';
import { judgeClaims, type ClaimRules } from './judge-claims';

const NOW = 1_800_000_000;
const ISSUER = 'https://issuer.example';

const rules: ClaimRules = {
  issuerUrl: ISSUER,
  ownIssuer: 'https://sluice.example',
  audience: 'sluice',
  subject: 'workload',
  singleUse: false,
  checks: [],
};
const good: Claims = { iss: ISSUER, aud: 'sluice', sub: 'workload', exp: NOW + 600, iat: NOW };

const isAdmitted = (claims: Claims, with_: Partial<ClaimRules> = {}): boolean =>
  !('problem' in judgeClaims({ ...good, ...claims }, { ...rules, ...with_ }, NOW));

describe(judgeClaims.name, () => {
  it('admits a token of the issuer, for the audience, about the subject', () => {
    expect(judgeClaims(good, rules, NOW)).toEqual({ subject: 'workload', expiresAtSeconds: NOW + 600, tokenId: null });
  });

  it.each<[string, Claims, Partial<ClaimRules>?]>([
    ['an audience among others', { aud: ['a', 'sluice'] }],
    ['a subject of any name where a condition decides', { sub: 'somebody' }, { subject: null }],
    ['a clock half a minute ahead', { iat: NOW + 30, nbf: NOW + 30 }],
    ['two seconds left', { exp: NOW + 2 }],
    ['fractions of seconds', { exp: NOW + 2.5, iat: NOW - 0.5 }],
    ['no iat', { iat: undefined }],
    ['a day', { exp: NOW + 86_400 }],
    ['a scope among others', { scopes: ['x', 'infer'] }, { checks: [{ kind: 'scopes', value: 'infer' }] }],
    ['a token type', { token_type: 'job' }, { checks: [{ kind: 'token_type', value: 'job' }] }],
    ['its first use', { jti: 'j'.repeat(256) }, { singleUse: true }],
    ['a subject of 512 characters', { sub: 's'.repeat(512) }, { subject: null }],
  ])('admits %s', (_what, claims, with_ = {}) => {
    expect(isAdmitted(claims, with_)).toBe(true);
  });

  it.each<[string, Claims, Partial<ClaimRules>?]>([
    ['O32 iss missing', { iss: undefined }],
    ['O32 iss with a slash', { iss: `${ISSUER}/` }],
    ['O32 iss in other letters', { iss: ISSUER.toUpperCase() }],
    ['O32 iss as a list', { iss: [ISSUER] }],
    ['O46 a token of ours', {}, { ownIssuer: ISSUER }],
    ['O33 aud missing', { aud: undefined }],
    ['O33 another aud', { aud: 'other' }],
    ['O33 aud as a prefix', { aud: 'sluice2' }],
    ['O33 aud in other letters', { aud: 'Sluice' }],
    ['O33 aud empty', { aud: [] }],
    ['O33 aud nested', { aud: [['sluice']] }],
    ['O33 aud a number', { aud: 1 }],
    ['O33 aud beside something else', { aud: ['sluice', 1] }],
    ['O33 aud too long', { aud: ['sluice', 'a'.repeat(513)] }],
    ['O34 sub missing', { sub: undefined }],
    ['O34 sub empty', { sub: '' }, { subject: null }],
    ['O34 sub too long', { sub: 's'.repeat(513) }, { subject: null }],
    ['O34 sub a number', { sub: 1 }, { subject: null }],
    ['O34 another sub', { sub: 'workload2' }],
    ['O34 sub in other letters', { sub: 'Workload' }],
    ['O35 exp missing', { exp: undefined }],
    ['O35 exp a text', { exp: String(NOW + 600) }],
    ['O35 exp null', { exp: null }],
    ['O35 exp a second ago', { exp: NOW - 1 }],
    ['O35 exp negative', { exp: -1 }],
    ['O35 exp far away', { exp: 1e18 }],
    ['O35 exp far away without iat', { exp: 9e15, iat: undefined }],
    ['O36 nbf ahead', { nbf: NOW + 31 }],
    ['O36 nbf a text', { nbf: '0' }],
    ['O37 iat ahead', { iat: NOW + 31 }],
    ['O37 a life of more than a day', { iat: NOW - 3_600, exp: NOW + 86_400 - 3_599 }],
    ['O38 half a second left', { exp: NOW + 0.5 }],
    ['O40 seventeen scopes', { scopes: Array.from({ length: 17 }, () => 'a') }],
    ['O40 scopes as a text', { scopes: 'a' }],
    ['O40 a scope too long', { scopes: ['a'.repeat(513)] }],
    ['O40 the scope missing', { scopes: ['Infer'] }, { checks: [{ kind: 'scopes', value: 'infer' }] }],
    ['O40 all scopes missing', {}, { checks: [{ kind: 'scopes', value: 'infer' }] }],
    ['O41 another token type', { token_type: 'Job' }, { checks: [{ kind: 'token_type', value: 'job' }] }],
    ['O41 a list of token types', { token_type: ['job'] }, { checks: [{ kind: 'token_type', value: 'job' }] }],
    [
      'one of two checks failing',
      { scopes: ['a'] },
      {
        checks: [
          { kind: 'scopes', value: 'a' },
          { kind: 'token_type', value: 'b' },
        ],
      },
    ],
    ['O50 jti missing', {}, { singleUse: true }],
    ['O50 jti too long', { jti: 'j'.repeat(257) }, { singleUse: true }],
    ['O50 jti a number', { jti: 1 }, { singleUse: true }],
  ])('refuses %s', (_what, claims, with_ = {}) => {
    expect(isAdmitted(claims, with_)).toBe(false);
  });
});
