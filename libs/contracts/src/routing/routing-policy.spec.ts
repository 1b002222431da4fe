import { allowedDataRegions, findRoutingPolicyProblem, type OwnedPolicy } from './routing-policy';

describe(findRoutingPolicyProblem.name, () => {
  it.each([
    {},
    { allowed_providers: ['openai', 'google-vertex/us-east5', 'Google Vertex'] },
    { ignored_providers: ['a'], allowed_models: ['vendor/model'], ignored_models: ['vendor/other'] },
    { allowed_data_regions: ['europe', 'us'], zdr: true, data_collection: 'deny' },
    { allowed_tools: ['web_search', 'mcp'], ignored_tools: ['shell'] },
    { allowed_data_regions: ['global'], zdr: false, data_collection: 'allow' },
  ])('takes %j', (policy) => {
    expect(findRoutingPolicyProblem(policy)).toBeNull();
  });

  it.each([
    [null, ' must be an object'],
    ['deny', ' must be an object'],
    [[], ' must be an object'],
    [{ allowed_provider: ['secret'] }, '.allowed_provider is not a member of this object'],
    [{ constructor: 1 }, '.constructor is not a member of this object'],
    [{ 'a name': 1 }, '["a name"] is not a member of this object'],
    [{ allowed_providers: [] }, '.allowed_providers must be an array of 1 to 200'],
    [{ allowed_providers: null }, '.allowed_providers must be an array'],
    [{ allowed_providers: 'openai' }, '.allowed_providers must be an array'],
    [{ ignored_providers: ['a', ''] }, '.ignored_providers[1] must be text'],
    [{ ignored_providers: ['a\u0000'] }, '.ignored_providers[0] must be text'],
    [{ allowed_models: Array.from({ length: 201 }, () => 'm') }, '.allowed_models must be an array of 1 to 200'],
    [{ ignored_models: ['m'.repeat(257)] }, '.ignored_models[0] must be text'],
    [{ allowed_data_regions: ['asia'] }, '.allowed_data_regions[0] must be one of global, europe, us'],
    [{ ignored_tools: ['web_serch'] }, '.ignored_tools[0] must be one of advisor, code_interpreter'],
    [{ allowed_tools: [] }, '.allowed_tools must be an array of 1 to'],
    [{ zdr: 'true' }, '.zdr must be a boolean'],
    [{ data_collection: true }, '.data_collection must be one of allow, deny'],
  ])('refuses %j and names the member, never its value', (policy, expected) => {
    const problem = findRoutingPolicyProblem(policy);
    expect(problem).toContain(expected);
    for (const value of ['secret', 'asia', 'true']) expect(problem).not.toContain(value);
  });
});

describe(allowedDataRegions.name, () => {
  const of = (...regions: readonly (OwnedPolicy['policy']['allowed_data_regions'] | undefined)[]): readonly string[] =>
    allowedDataRegions(
      regions.map((list) => ({ owner: 'key', policy: list === undefined ? {} : { allowed_data_regions: list } })),
    );

  it('is anywhere where nothing narrows it', () => {
    expect([of(), of(undefined), of(['global']), of(['europe', 'global'])]).toEqual(Array(4).fill(['global']));
  });

  it('is what workspace and key have in common', () => {
    expect(of(['europe', 'us'], ['us', 'global'], undefined)).toEqual(['europe', 'us']);
    expect(of(['europe', 'us'], ['us'])).toEqual(['us']);
    expect(of(['europe'], ['us'])).toEqual([]);
  });
});
