import type { AppError } from '@libs/errors';
import { oauthMeaningOf } from './oauth-errors';
import { readTokenRequest } from './token-request';

const POLICY = '6f1e7c5e-6e0c-4a43-9d5c-6c5f0a9b7a11';
const good: Readonly<Record<string, string>> = {
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  federation_policy_id: POLICY,
  subject_token: 'aa.bb-_.cc',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
};

const read = (fields: object): unknown => readTokenRequest(new Map(Object.entries({ ...good, ...fields })));

function errorOf(fields: object): string {
  try {
    read(fields);
    return 'none';
  } catch (error) {
    return oauthMeaningOf(error as AppError).error;
  }
}

describe(readTokenRequest.name, () => {
  it.each<[string, object]>([
    ['what is needed', {}],
    ['O10 its scope', { scope: 'inference' }],
    ['O10 an empty scope', { scope: '' }],
    ['its token type', { requested_token_type: 'urn:ietf:params:oauth:token-type:access_token' }],
    ['audience and resource', { audience: 'anything', resource: 'https://anywhere.example' }],
    ['an unknown field', { something: 'else' }],
    ['O14 the longest token', { subject_token: `${'a'.repeat(16_380)}.b.c` }],
  ])('takes %s', (_what, fields) => {
    expect(read(fields)).toMatchObject({ policyId: POLICY });
  });

  it.each<[string, object, string]>([
    ['O04 no grant_type', { grant_type: '' }, 'invalid_request'],
    ['O04 another grant_type', { grant_type: 'client_credentials' }, 'unsupported_grant_type'],
    ['O08 no subject_token_type', { subject_token_type: '' }, 'invalid_request'],
    ['O08 an ID token', { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }, 'invalid_request'],
    ['O09 another token', { requested_token_type: 'urn:ietf:params:oauth:token-type:jwt' }, 'invalid_request'],
    ['O10 another scope', { scope: 'admin' }, 'invalid_scope'],
    ['O10 two scopes', { scope: 'inference admin' }, 'invalid_scope'],
    ['O11 no policy', { federation_policy_id: '' }, 'invalid_request'],
    ['O11 a policy that is no UUID', { federation_policy_id: 'policy' }, 'invalid_request'],
    ['O13 no token', { subject_token: '' }, 'invalid_request'],
    ['O14 a token too long', { subject_token: `${'a'.repeat(16_381)}.b.c` }, 'invalid_request'],
    ['O15 two segments', { subject_token: 'a.b' }, 'invalid_request'],
    ['O15 four segments', { subject_token: 'a.b.c.d' }, 'invalid_request'],
    ['O15 padding', { subject_token: 'a.b.c=' }, 'invalid_request'],
    ['O15 a plus', { subject_token: 'a.b.c+' }, 'invalid_request'],
    ['O15 a line break', { subject_token: 'a.b.c\n' }, 'invalid_request'],
    ['O16 an actor', { actor_token: 'a.b.c' }, 'invalid_request'],
  ])('refuses %s', (_what, fields, error) => {
    expect(errorOf(fields)).toBe(error);
  });
});
