import type { RouteDeclaration, Routes } from './route';

/** Routes that list, make, show, change and delete things of one kind. */
function resource(path: string, parameter: string, names: Record<'one' | 'many' | 'dto' | 'answer', string>): Routes {
  const { one, many, dto, answer } = names;
  const plural = answer.endsWith('y') && answer !== 'Key' ? `${answer.slice(0, -1)}ies` : `${answer}s`;
  const queries: Record<string, string> = { keys: 'ListKeysQueryDto', byok: 'ListCredentialsQueryDto' };
  const path1 = `${path}/:${parameter}`;
  const at = (rest: RouteDeclaration): RouteDeclaration => ({ ...rest, errors: ['not_found', ...(rest.errors ?? [])] });
  return {
    [`GET ${path}`]: {
      summary: `List ${many}`,
      answer: `${plural}Answer`,
      query: queries[path.split('/').at(-1)!] ?? 'PageQueryDto',
    },
    [`POST ${path}`]: {
      summary: `Create ${one}`,
      answer: answer === 'Key' ? 'CreatedKeyAnswer' : `${answer}Answer`,
      body: `Create${dto}Dto`,
      errors: ['conflict'],
      // The operator chooses (BYOK_CREATED_STATUS).
      ...(answer === 'Credential' && { statuses: [200, 201] }),
    },
    [`GET ${path1}`]: at({ summary: `Show ${one}`, answer: `${answer}Answer` }),
    [`PATCH ${path1}`]: at({ summary: `Change ${one}`, answer: `${answer}Answer`, body: `Update${dto}Dto` }),
    [`DELETE ${path1}`]: at({ summary: `Delete ${one}`, answer: 'Deleted', errors: ['conflict'] }),
  };
}

const API = '/api/v1';
const WORKSPACE = `${API}/workspaces/:id`;
const BUDGET = `${WORKSPACE}/budgets/:interval`;

const EXAMPLES: Readonly<Record<string, object>> = {
  [`POST ${API}/keys`]: { name: 'app', limit: 1, limit_reset: 'daily' },
  [`POST ${API}/workspaces`]: { name: 'Team', slug: 'team' },
  [`POST ${API}/byok`]: { provider: 'openai', key: 'sk-…' },
  [`POST ${API}/workload-identity/issuers`]: { name: 'ci', issuer_url: 'https://issuer.example' },
};

const RESOURCES: Routes = {
  ...resource(`${API}/keys`, 'hash', { one: 'an API key', many: 'API keys', dto: 'Key', answer: 'Key' }),
  ...resource(`${API}/workspaces`, 'id', {
    one: 'a workspace',
    many: 'workspaces',
    dto: 'Workspace',
    answer: 'Workspace',
  }),
  ...resource(`${API}/byok`, 'id', {
    one: "a provider key of the organization's own",
    many: "provider keys of the organization's own",
    dto: 'Credential',
    answer: 'Credential',
  }),
  ...resource(`${API}/workload-identity/issuers`, 'id', {
    one: 'an issuer of tokens',
    many: 'issuers of tokens',
    dto: 'Issuer',
    answer: 'Issuer',
  }),
  ...resource(`${API}/workload-identity/policies`, 'id', {
    one: 'a policy for tokens',
    many: 'policies for tokens',
    dto: 'Policy',
    answer: 'Policy',
  }),
};

/** Routes for management keys. */
export const MANAGEMENT_ROUTES: Routes = {
  ...Object.fromEntries(
    Object.entries(RESOURCES).map(([route, declaration]) => {
      const example = EXAMPLES[route];
      return [route, example === undefined ? declaration : { ...declaration, example }];
    }),
  ),
  [`GET ${API}/key`]: { summary: 'Show the key of the request', answer: 'CurrentKeyAnswer' },
  [`POST ${API}/keys/:hash/rotate`]: {
    summary: 'Give a key a new secret',
    answer: 'CreatedKeyAnswer',
    body: 'RotateKeyDto',
    errors: ['not_found', 'conflict'],
    example: { overlap_seconds: 60 },
  },
  [`DELETE ${API}/keys/:hash/rotation`]: {
    summary: 'End the overlap of a rotation: only the current secret works',
    answer: 'KeyAnswer',
    errors: ['not_found'],
  },
  [`GET ${API}/credits`]: { summary: 'Show credits and usage in US dollars', answer: 'CreditsAnswer' },
  [`GET ${API}/audit`]: {
    summary: 'List who did what in the organization, newest first',
    answer: 'AuditAnswer',
    query: 'ListAuditQueryDto',
  },
  [`POST ${WORKSPACE}/webhook-secret`]: {
    summary: 'Make a new secret for webhooks',
    answer: 'WebhookSecretAnswer',
    errors: ['not_found'],
  },
  [`GET ${WORKSPACE}/members`]: {
    summary: 'List members of a workspace',
    answer: 'MembersAnswer',
    query: 'PageQueryDto',
    errors: ['not_found'],
  },
  [`POST ${WORKSPACE}/members/add`]: {
    summary: 'Add members to a workspace',
    answer: 'AddedMembersAnswer',
    body: 'MembersDto',
    errors: ['not_found'],
    example: { user_ids: ['ada'] },
  },
  [`POST ${WORKSPACE}/members/remove`]: {
    summary: 'Remove members from a workspace',
    answer: 'RemovedMembersAnswer',
    body: 'MembersDto',
    errors: ['not_found'],
    example: { user_ids: ['ada'] },
  },
  [`GET ${WORKSPACE}/budgets`]: {
    summary: 'List budgets of a workspace',
    answer: 'BudgetsAnswer',
    errors: ['not_found'],
  },
  [`GET ${BUDGET}`]: { summary: 'Show a budget', answer: 'BudgetAnswer', errors: ['not_found'] },
  [`PUT ${BUDGET}`]: {
    summary: 'Set a budget',
    answer: 'BudgetAnswer',
    body: 'PutBudgetDto',
    errors: ['not_found'],
    example: { limit_usd: 25 },
  },
  [`DELETE ${BUDGET}`]: { summary: 'Delete a budget', answer: 'Deleted', errors: ['not_found'] },
};
