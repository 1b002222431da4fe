import type { RouteDeclaration, Routes } from './route';

const HTML = ['text/html'];
const FORM = 'application/x-www-form-urlencoded';
const fields = (required: readonly string[], others: readonly string[] = []): object => ({
  type: 'object',
  required,
  properties: Object.fromEntries([...required, ...others].map((name) => [name, { type: 'string' }])),
});
/** Facts that the page and its forms share. */
const PAGE = { answer: null, media: HTML, errorShape: 'page' } as const;
const PAGE_FORM: Omit<RouteDeclaration, 'summary'> = {
  ...PAGE,
  bodyType: FORM,
  statuses: [200, 303],
  errors: ['permission_denied', 'payload_too_large'],
};
const CONSENT_FIELDS = ['callback_url', 'code_challenge', 'code_challenge_method'];
const CHOICES = ['key_label', 'limit', 'usage_limit_type', 'expires_on', 'workspace_id'];

/** Routes by which programs get keys and tokens, and this document. */
export const SIGN_IN_ROUTES: Routes = {
  'GET /auth': {
    summary: 'The page on which a person gives an app a key',
    ...PAGE,
    query: {
      callback_url: 'Where the code is sent; without it the page shows the code.',
      code_challenge: 'PKCE challenge (RFC 7636).',
      code_challenge_method: '`S256` or `plain`.',
      key_label: 'Proposed name of the key.',
      limit: 'Proposed limit in US dollars.',
      usage_limit_type: '`daily`, `weekly` or `monthly`.',
      expires_at: 'Proposed end of the key, ISO 8601.',
      workspace_id: 'Proposed workspace.',
    },
  },
  'POST /auth/session': {
    summary: 'Form of that page: sign in',
    ...PAGE_FORM,
    body: fields(['form_token', 'management_key'], [...CONSENT_FIELDS, ...CHOICES]),
  },
  'POST /auth/session/end': {
    summary: 'Form of that page: sign out',
    ...PAGE_FORM,
    body: fields(['form_token'], [...CONSENT_FIELDS, ...CHOICES]),
  },
  'POST /auth': {
    summary: 'Form of that page: decide',
    ...PAGE_FORM,
    body: fields(['form_token', 'decision'], [...CONSENT_FIELDS, ...CHOICES]),
  },
  'POST /api/v1/auth/keys/code': {
    summary: 'Make an authorization code for an app',
    answer: 'CodeAnswer',
    body: 'CreateAuthorizationCodeDto',
    example: { callback_url: 'https://app.example/back', limit: 1 },
  },
  'POST /api/v1/auth/keys': {
    summary: 'Exchange an authorization code for a key',
    answer: 'ExchangedKeyAnswer',
    body: 'ExchangeAuthorizationCodeDto',
  },
  'POST /api/v1/oauth/token': {
    summary: "Exchange a workload's token for an access token (RFC 8693)",
    answer: 'TokenAnswer',
    bodyType: FORM,
    body: fields(
      ['grant_type', 'subject_token', 'subject_token_type', 'federation_policy_id'],
      ['requested_token_type', 'scope', 'audience', 'resource'],
    ),
    errorShape: 'OauthError',
    errors: ['unavailable'],
  },
  'GET /api/v1/oauth/jwks': { summary: 'Keys that verify access tokens (RFC 7517)', answer: 'JwksAnswer' },
  'GET /.well-known/oauth-authorization-server': {
    summary: 'Describe the authorization server (RFC 8414)',
    answer: 'AuthorizationServerAnswer',
  },
  'GET /api/v1/openapi.json': { summary: 'This document', answer: 'DocumentAnswer' },
  'GET /docs': { summary: 'This document as a page', answer: null, media: HTML },
  'GET /docs/:file': {
    summary: 'A file of that page',
    answer: null,
    media: ['text/css', 'text/javascript'],
    errors: ['not_found'],
  },
};
