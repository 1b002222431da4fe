import type { OwnedPolicy, RoutingPolicy } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { aCatalogue, aModel, anEndpoint, aProvider } from '../testing';
import type { Endpoint, Model } from '../catalogue/catalogue-entries';
import type { OwnCredential } from './credential-source';
import type { Candidate } from './planned-route';
import { allowedCandidates, isModelAllowed } from './route-policy';
import { findUnknownName, readRoutePolicies } from './routing-policy-reader';

const open = { retainsPrompts: false, trainsOnPrompts: false, zdr: false };
const at = (slug: string, values: Partial<Endpoint> = {}, dataPolicy = { ...open, retainsPrompts: true }): Endpoint =>
  anEndpoint({ provider: aProvider({ slug, name: slug.toUpperCase(), dataPolicy }), ...values });

const endpoints = {
  plain: at('plain'),
  paris: at('paris/eu', { region: 'eu-west-3', zdr: true }),
  texas: at('texas', { region: 'us-south' }, open),
  trainer: at('trainer', {}, { ...open, trainsOnPrompts: true }),
};
const model: Model = aModel({ slug: 'acme/large', endpoints: Object.values(endpoints) });
const all: readonly Candidate[] = model.endpoints.map((endpoint) => ({ model, endpoint, credential: null }));

function allowed(policies: readonly OwnedPolicy[], candidates = all): readonly string[] {
  return allowedCandidates(candidates, readRoutePolicies(policies), 'acme/large').map(
    ({ endpoint }) => endpoint.provider.slug,
  );
}

const ofKey = (policy: RoutingPolicy): OwnedPolicy => ({ owner: 'key', policy });
const ofWorkspace = (policy: RoutingPolicy): OwnedPolicy => ({ owner: 'workspace', policy });

function refusalOf(policies: readonly OwnedPolicy[]): AppError {
  try {
    allowed(policies);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('a policy on tools', () => {
  const refusedTool = (policy: OwnedPolicy, tools: readonly string[]): string | null => {
    try {
      allowedCandidates(all, readRoutePolicies([policy]), 'acme/large', tools);
      return null;
    } catch (error) {
      expect(error).toMatchObject({ code: 'permission_denied' });
      return (error as AppError).message;
    }
  };

  it.each<[OwnedPolicy, readonly string[], string | null]>([
    [ofKey({ allowed_tools: ['web_search'] }), ['web_search'], null],
    [ofKey({ allowed_tools: ['web_search'] }), [], null],
    [ofKey({}), ['image_generation'], null],
    [
      ofKey({ allowed_tools: ['web_search'] }),
      ['web_search', 'image_generation'],
      'Blocked by the policy of the key (allowed_tools): the tool image_generation may not be used',
    ],
    [
      ofWorkspace({ ignored_tools: ['mcp'] }),
      ['mcp'],
      'Blocked by the policy of the workspace (ignored_tools): the tool mcp may not be used',
    ],
    [ofWorkspace({ ignored_tools: ['mcp'] }), ['shell'], null],
    [
      ofWorkspace({ zdr: true }),
      ['code_interpreter'],
      'Blocked by the policy of the workspace (zdr): the tool code_interpreter may not be used',
    ],
    [
      ofWorkspace({ zdr: true }),
      ['shell'],
      'Blocked by the policy of the workspace (zdr): the tool shell may not be used',
    ],
    [
      ofKey({ data_collection: 'deny' }),
      ['file_search'],
      'Blocked by the policy of the key (data_collection): the tool file_search may not be used',
    ],
    [ofKey({ data_collection: 'deny' }), ['web_search'], null],
    [ofKey({ data_collection: 'allow' }), ['file_search'], null],
  ])('%j with %j: %s', (policy, tools, message) => {
    expect(refusedTool(policy, tools)).toBe(message && `${message}; a management key can change it`);
  });
});

describe(allowedCandidates.name, () => {
  const everyone = ['plain', 'paris/eu', 'texas', 'trainer'];

  it.each<[string, RoutingPolicy, readonly string[]]>([
    ['nothing', {}, everyone],
    ['what is allowed', { allowed_providers: ['texas', 'plain'] }, ['plain', 'texas']],
    ['a provider by its name in any case', { allowed_providers: ['Texas'] }, ['texas']],
    ['a provider with all its variants', { allowed_providers: ['paris'] }, ['paris/eu']],
    ['what is ignored', { ignored_providers: ['paris', 'TRAINER'] }, ['plain', 'texas']],
    ['the one without the other', { allowed_providers: ['plain', 'texas'], ignored_providers: ['texas'] }, ['plain']],
    ['the model', { allowed_models: ['acme/large', 'acme/small'] }, everyone],
    ['another model', { ignored_models: ['acme/small'] }, everyone],
    ['Europe', { allowed_data_regions: ['europe'] }, ['paris/eu']],
    ['two regions', { allowed_data_regions: ['europe', 'us'] }, ['paris/eu', 'texas']],
    ['anywhere', { allowed_data_regions: ['europe', 'global'] }, everyone],
    ['zero retention', { zdr: true }, ['paris/eu']],
    ['no retention asked for', { zdr: false, data_collection: 'allow' }, everyone],
    ['no collection', { data_collection: 'deny' }, ['paris/eu', 'texas']],
  ])('keeps to a policy about %s', (_what, policy, expected) => {
    expect(allowed([ofKey(policy)])).toEqual(expected);
    expect(allowed([ofWorkspace(policy)])).toEqual(expected);
  });

  it('allows what both the workspace and the key allow', () => {
    expect(allowed([ofWorkspace({ data_collection: 'deny' }), ofKey({ ignored_providers: ['paris'] })])).toEqual([
      'texas',
    ]);
  });

  it.each<[readonly OwnedPolicy[], string, string, string | undefined]>([
    [
      [ofKey({ allowed_providers: ['other'] })],
      'key.policy.allowed_providers',
      'constraint_filtered',
      'allowed_providers',
    ],
    [[ofKey({ allowed_models: ['acme/small'] })], 'key.policy.allowed_models', 'constraint_filtered', undefined],
    [
      [ofWorkspace({ ignored_models: ['acme/large'] })],
      'workspace.policy.ignored_models',
      'constraint_filtered',
      undefined,
    ],
    [
      [ofWorkspace({ zdr: true }), ofKey({ ignored_providers: ['paris'] })],
      'key.policy.ignored_providers',
      'constraint_filtered',
      'allowed_providers',
    ],
    [
      [ofWorkspace({ allowed_data_regions: ['us'] }), ofKey({ zdr: true })],
      'key.policy.zdr',
      'privacy_restricted',
      'data_policy:zdr',
    ],
    [
      [ofKey({ allowed_providers: ['plain'], data_collection: 'deny' })],
      'key.policy.data_collection',
      'privacy_restricted',
      'data_policy:training',
    ],
    [
      [ofWorkspace({ allowed_data_regions: ['europe'] }), ofKey({ allowed_data_regions: ['us'] })],
      'key.policy.allowed_data_regions',
      'region_restricted',
      'data_region',
    ],
  ])('refuses with the member that leaves nothing: %j', (policies, field, code, excludedBy) => {
    const error = refusalOf(policies);
    const [owner, , member] = field.split('.');
    expect(error).toMatchObject({ code: 'permission_denied', status: 403 });
    expect(error.message).toContain(`policy of the ${owner} (${member})`);
    expect(error.availability).toMatchObject({ code, retryable: false, constraint: { field } });
    expect(error.availability?.['excluded_by']).toBe(excludedBy);
  });

  it('judges an own key by what its owner declares of it', () => {
    const credential = { declaredZdr: true, declaredRegion: 'europe' } as OwnCredential;
    const own = { model, endpoint: endpoints.plain, credential };
    expect(allowed([ofKey({ zdr: true, allowed_data_regions: ['europe'] })], [...all, own])).toEqual([
      'paris/eu',
      'plain',
    ]);
  });

  it('has nothing to forbid where there is nothing', () => {
    expect(allowed([ofKey({ zdr: true })], [])).toEqual([]);
  });
});

describe(isModelAllowed.name, () => {
  it.each<[readonly OwnedPolicy[], boolean]>([
    [[], true],
    [[ofKey({ zdr: true })], true],
    [[ofKey({ ignored_models: ['acme/large'] })], false],
    [[ofKey({ allowed_providers: ['nobody'] })], false],
    // Each leaves an endpoint, and both together none.
    [[ofWorkspace({ allowed_data_regions: ['us'] }), ofKey({ zdr: true })], false],
  ])('by %j is %j', (policies, expected) => {
    expect(isModelAllowed(model, readRoutePolicies(policies))).toBe(expected);
  });
});

describe('a policy that names a model by an alias', () => {
  const renamed = { ...model, aliases: ['large'] };

  it.each<[RoutingPolicy, boolean]>([
    [{ ignored_models: ['large'] }, false],
    [{ allowed_models: ['large'] }, true],
    [{ allowed_models: ['acme/large'] }, true],
    [{ allowed_models: ['Large'] }, false],
  ])('holds for the model: %j', (policy, expected) => {
    expect(isModelAllowed(renamed, readRoutePolicies([ofKey(policy)]))).toBe(expected);
    expect(findUnknownName({ allowed_models: ['large'] }, aCatalogue(renamed))).toBeNull();
  });
});

describe(findUnknownName.name, () => {
  const catalogue = aCatalogue(model);

  it.each<[RoutingPolicy, string | null]>([
    [{}, null],
    [{ allowed_providers: ['plain', 'TEXAS', 'paris', 'paris/eu'], allowed_models: ['acme/large'] }, null],
    [{ allowed_providers: ['plain', 'nobody'] }, 'allowed_providers[1]'],
    [{ ignored_providers: ['nobody'] }, 'ignored_providers[0]'],
    [{ allowed_models: ['acme/large', 'acme/Large'] }, 'allowed_models[1]'],
    [{ ignored_models: ['acme'] }, 'ignored_models[0]'],
  ])('of %j is at %s', (policy, place) => {
    expect(findUnknownName(policy, catalogue)).toBe(place);
  });
});
