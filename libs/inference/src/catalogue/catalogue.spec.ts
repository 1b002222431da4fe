import { parseRate } from '../pricing/money';
import { Catalogue, CatalogueError, parseCatalogue } from './catalogue';

const PROVIDER = `
providers:
  - slug: acme
    name: Acme
    base_url: https://api.acme.test/v1/
    protocol: openai
    api_key_env: ACME_API_KEY
    batch: native
`;
const MODEL = `
models:
  - slug: acme/small
    name: Small
    context_length: 1000
    endpoints:
      - provider: acme
        upstream_model: small-1
        apis: [chat]
        pricing: { prompt: "0.00000015", completion: "0.0000006", web_search: "0.01" }
`;
const WHOLE = PROVIDER + MODEL;

function parse(...texts: string[]): Catalogue {
  const files = texts.map((text, index) => ({ name: `file-${index}.yaml`, text }));
  return parseCatalogue(files, { protocols: ['openai', 'anthropic', 'bedrock'] });
}

function problemsOf(...texts: string[]): string[] {
  try {
    parse(...texts);
  } catch (thrown) {
    if (thrown instanceof CatalogueError) {
      return thrown.problems.map(({ file, path, message }) => `${file} ${path}: ${message}`);
    }
    throw thrown;
  }
  return [];
}

describe(parseCatalogue.name, () => {
  it('tells an endpoint the parameters of its model, also of one in an earlier file, unless it has its own', () => {
    const listing = MODEL.replace('    endpoints:', '    supported_parameters: [top_k]\n    endpoints:');
    const another = MODEL.replace('small-1', 'small-2');
    const own = MODEL.replace('small-1', 'small-3') + '        capabilities: { supported_parameters: [seed] }\n';
    const endpoints = parse(PROVIDER + listing, another, own).findModel('acme/small')!.endpoints;
    expect(endpoints.map(({ supportedParameters }) => supportedParameters)).toEqual([['top_k'], ['top_k'], ['seed']]);
    expect(parse(WHOLE).findModel('acme/small')!.endpoints[0]!.supportedParameters).toEqual([]);
  });

  it('fills in what a file may leave out', () => {
    const catalogue = parse(WHOLE);
    expect(catalogue.findProvider('acme')).toEqual({
      slug: 'acme',
      name: 'Acme',
      baseUrl: 'https://api.acme.test/v1',
      protocol: 'openai',
      apiKeyEnv: 'ACME_API_KEY',
      headers: {},
      regions: ['global'],
      dataPolicy: { retainsPrompts: true, trainsOnPrompts: true, zdr: false },
      batch: 'native',
      maxConcurrency: 64,
    });
    const model = catalogue.findModel('acme/small');
    expect(model).toMatchObject({ created: 0, description: '', supportedParameters: [] });
    expect(model?.architecture).toMatchObject({ inputModalities: ['text'], outputModalities: ['text'] });
    expect(model?.endpoints[0]).toMatchObject({
      contextLength: 1000,
      maxCompletionTokens: null,
      quantization: 'unknown',
      region: 'global',
      zdr: false,
      capabilities: {},
    });
  });

  it('reads which endpoints share a limit of rates, and wants one group for an upstream model', () => {
    const grouped = WHOLE.replace('small-1', 'small-1\n        quota_group: cheap');
    expect(parse(grouped).findModel('acme/small')!.endpoints[0]!.quotaGroup).toBe('cheap');
    expect(parse(WHOLE).findModel('acme/small')!.endpoints[0]!.quotaGroup).toBeNull();
    expect(problemsOf(grouped.replace('cheap', 'two words'))[0]).toContain('quota_group: must be one word');
    const other = MODEL.replaceAll('acme/small', 'acme/large').replace('[chat]', '[responses]');
    expect(problemsOf(grouped, other)).toEqual([
      'file-1.yaml models[0].endpoints[0].quota_group: differs from the one of an earlier endpoint with this upstream_model',
    ]);
  });

  it('finds a model by its slug and by its batch slug', () => {
    const catalogue = parse(WHOLE);
    expect(catalogue.findModel('acme/small:batch')).toBe(catalogue.findModel('acme/small'));
    for (const unknown of ['acme/other', 'acme/small:batch:batch', ':batch', '', '__proto__', 'acme/small:free']) {
      expect(catalogue.findModel(unknown)).toBeNull();
    }
  });

  it('finds a model by its aliases, which further files add to', () => {
    const first = MODEL.replace('    name: Small', '    aliases: [small, small-1]\n    name: Small');
    const further = MODEL.replace('    name: Small', '    aliases: [small, theirs/small]\n    name: Small').replace(
      '[chat]',
      '[responses]',
    );
    const catalogue = parse(PROVIDER + first, further);
    const model = catalogue.findModel('acme/small');
    expect(model?.aliases).toEqual(['small', 'small-1', 'theirs/small']);
    for (const name of ['small', 'small-1', 'theirs/small', 'small:batch']) {
      expect(catalogue.findModel(name)).toBe(model);
    }
    expect(catalogue.findModel('Small')).toBeNull();
    expect(catalogue.hash).not.toBe(parse(WHOLE).hash);
  });

  it('wants each alias to lead to one model', () => {
    const named = (slug: string, aliases: string, api: string): string =>
      MODEL.replaceAll('acme/small', slug)
        .replace('    name: Small', `    aliases: ${aliases}\n    name: Small`)
        .replace('[chat]', `[${api}]`);
    const other = named('acme/large', '[small, acme/small, acme/large, own]', 'responses');
    expect(problemsOf(PROVIDER + named('acme/small', '[small, acme/large]', 'chat'), other)).toEqual([
      'file-0.yaml models[0].aliases[1]: is the slug of a model',
      'file-1.yaml models[0].aliases[0]: is an alias of another model',
      'file-1.yaml models[0].aliases[1]: is the slug of a model',
      'file-1.yaml models[0].aliases[2]: is the slug of a model',
    ]);
    expect(problemsOf(PROVIDER + named('acme/small', '[small, small]', 'chat'))).toEqual([
      'file-0.yaml models[0].aliases: must not name anything twice',
    ]);
  });

  it.each(['small:batch', '~small', '', 'a b', '../small', '/small'])('refuses the alias %j', (alias) => {
    const text = WHOLE.replace('    name: Small', `    aliases: ["${alias}"]\n    name: Small`);
    expect(problemsOf(text)).toEqual([
      'file-0.yaml models[0].aliases[0]: must be a name such as gpt-4o or <vendor>/<model> that does not end in :batch',
    ]);
  });

  it('halves the price of a native batch, but not of web searches', () => {
    const [endpoint] = parse(WHOLE).findModel('acme/small')!.endpoints;
    expect(endpoint?.batchPricing).toMatchObject({
      prompt: parseRate('0.000000075'),
      completion: parseRate('0.0000003'),
    });
    expect(endpoint?.listedBatchPricing).toEqual({
      prompt: '0.000000075',
      completion: '0.0000003',
      web_search: '0.01',
    });
  });

  it.each([
    ['half', '0.00000001', '0.000000012'],
    ['full', '0.00000002', '0.000000024'],
    ['uncached', undefined, undefined],
  ])('prices cached tokens of a native batch by batch_cache_reads: %s', (rule, read, longRead) => {
    const long =
      ', input_cache_read: "0.00000002", overrides: [{ min_prompt_tokens: 9, input_cache_read: "0.000000024" }] }';
    const priced = WHOLE.replace('batch: native', `batch: native\n    batch_cache_reads: ${rule}`).replace(
      /(pricing: \{[^}]*?)\s*\}/,
      `$1${long}`,
    );
    const { batchPricing } = parse(priced).findModel('acme/small')!.endpoints[0]!;
    const rates = [batchPricing.inputCacheRead, batchPricing.overrides?.[0]?.rates.inputCacheRead];
    expect(rates).toEqual([read, longRead].map((rate) => rate && parseRate(rate)));
  });

  it('keeps the price where batches are run line by line', () => {
    const [endpoint] = parse(WHOLE.replace('batch: native', 'batch: managed')).findModel('acme/small')!.endpoints;
    expect(endpoint?.batchPricing).toEqual(endpoint?.pricing);
  });

  it('takes batch prices that are named', () => {
    const [endpoint] = parse(`${WHOLE}        batch_pricing: { prompt: "0.1", completion: "0" }`).models()[0]!
      .endpoints;
    expect(endpoint?.listedBatchPricing).toEqual({ prompt: '0.1', completion: '0', web_search: '0.01' });
    expect(endpoint?.batchPricing).toMatchObject({ prompt: parseRate('0.1'), completion: 0n });
  });

  it('reads prices per video second and resolution', () => {
    const video = WHOLE.replace('[chat]', '[video]').replace(/pricing: .*/, 'pricing: { video_second_1080p: "0.4" }');
    const model = parse(video).findModel('acme/small');
    expect(model?.endpoints[0]?.pricing.videoSecondByResolution).toEqual({ '1080p': parseRate('0.4') });
    expect(model?.architecture.outputModalities).toEqual(['video']);
  });

  it('merges files by slug: endpoints are appended, a provider may be repeated', () => {
    const second = `${PROVIDER}
models:
  - slug: acme/small
    endpoints:
      - { provider: acme, upstream_model: small-eu, apis: [chat], region: eu, pricing: { prompt: "1", completion: "2" } }
`;
    const model = parse(WHOLE, second).findModel('acme/small');
    expect(model?.name).toBe('Small');
    expect(model?.endpoints.map(({ upstreamModel }) => upstreamModel)).toEqual(['small-1', 'small-eu']);
    expect(model?.endpoints[1]?.contextLength).toBe(1000);
  });

  it('finds the provider of a model in whichever file it stands', () => {
    expect(parse(MODEL, PROVIDER).findModel('acme/small')?.endpoints[0]?.provider.slug).toBe('acme');
  });

  it('refuses two definitions of a provider that differ', () => {
    expect(problemsOf(WHOLE, PROVIDER.replace('name: Acme', 'name: Other'))).toEqual([
      'file-1.yaml providers[0]: differs from file-0.yaml',
    ]);
  });

  it('refuses the same endpoint twice', () => {
    expect(problemsOf(WHOLE, MODEL)).toEqual([
      'file-1.yaml models[0].endpoints: names the same endpoint of acme twice for chat',
    ]);
  });

  it('reads what tools of the provider cost, in a batch too', () => {
    const priced = (tools: string, text = WHOLE) => text.trimEnd() + `\n        tool_pricing: ${tools}\n`;
    const [endpoint] = parse(priced('{ file_search: "0.0025", mcp: "0" }')).findModel('acme/small')!.endpoints;
    const tools = { file_search: parseRate('0.0025'), mcp: 0n };
    expect([endpoint!.pricing, endpoint!.batchPricing]).toMatchObject([{ tools }, { tools }]);
    const unsearched = WHOLE.replace(', web_search: "0.01"', '');
    const search = parse(priced('{ web_search: "0.02" }', unsearched)).findModel('acme/small')!.endpoints[0]!;
    expect(search.pricing).toMatchObject({ webSearch: parseRate('0.02') });
    expect(search.pricing).not.toHaveProperty('tools');
    expect(search.listedPricing).toMatchObject({ web_search: '0.02' });
    expect(problemsOf(priced('{ File: "1", mcp: 0.5, web_search: "0.02" }'))).toEqual([
      'file-0.yaml models[0].endpoints[0].tool_pricing.File: must be the name of a tool in lower case, such as file_search',
      'file-0.yaml models[0].endpoints[0].tool_pricing.mcp: must be a decimal string in quotes, such as "0.00000015"',
      'file-0.yaml models[0].endpoints[0].pricing: has a price for web_search that tool_pricing contradicts',
    ]);
  });

  it('reads what a second of sound costs more with an option', () => {
    const priced = (options: string) => WHOLE.trimEnd() + `\n        option_pricing: ${options}\n`;
    const [endpoint] = parse(priced('{ keyterms: "0.00002", diarize: "0" }')).findModel('acme/small')!.endpoints;
    const audioOptions = { keyterms: parseRate('0.00002'), diarize: 0n };
    expect([endpoint!.pricing, endpoint!.batchPricing]).toMatchObject([{ audioOptions }, { audioOptions }]);
    expect(problemsOf(priced('{ Keyterms: "1", diarize: 0.5 }'))).toEqual([
      'file-0.yaml models[0].endpoints[0].option_pricing.Keyterms: must be the name of an option in lower case, such as keyterms',
      'file-0.yaml models[0].endpoints[0].option_pricing.diarize: must be a decimal string in quotes, such as "0.00000015"',
    ]);
  });

  it('takes endpoints that differ in nothing but their tier or their variant', () => {
    const endpoint = MODEL.slice(MODEL.indexOf('      - provider: acme'));
    const sold = (capability: string) => `${endpoint}        capabilities: { ${capability} }\n`;
    const text = PROVIDER + MODEL + sold('service_tier: priority') + sold('service_tier: flex') + sold('variant: free');
    expect(problemsOf(text)).toEqual([]);
    expect(problemsOf(text + sold('service_tier: fast'))).toEqual([
      'file-0.yaml models[0].endpoints: names the same endpoint of acme twice for chat',
    ]);
  });

  it('lets anchors and merge keys shorten a file', () => {
    const text = `${PROVIDER}
models:
  - slug: acme/a
    name: A
    endpoints: [&endpoint { provider: acme, upstream_model: a, apis: [chat], pricing: &free { prompt: "0", completion: "0" } }]
  - slug: acme/b
    name: B
    endpoints: [{ <<: *endpoint, upstream_model: b }]
`;
    expect(parse(text).findModel('acme/b')?.endpoints[0]).toMatchObject({
      upstreamModel: 'b',
      listedPricing: { prompt: '0' },
    });
  });

  it('refuses a file whose aliases multiply without end', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
    for (const [from, to] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg', 'gh']) {
      bomb.push(`${to}: &${to} [${Array.from({ length: 10 }, () => `*${from}`).join(', ')}]`);
    }
    expect(problemsOf(bomb.join('\n'))).toEqual([
      'file-0.yaml : cannot be resolved: an alias is unknown, circular or used too often',
    ]);
  });

  it('names every problem of every file at once, with its place', () => {
    const text = `
providers:
  - slug: acme
    base_url: ftp://api.acme.test
    protocol: telepathy
    api_key_env: "not a name"
    headers: { "bad name": x, ok: 5 }
    max_concurrency: 0
    own_key_hosts: ["*", "*.com", "https://a.example", "*.a.example", "a.example:8443"]
    batch: sometimes
    colour: red
  - slug: acme
    name: Again
    base_url: https://user:secret@acme.test
    protocol: openai
models:
  - slug: small
    name: 5
    created: -1
    endpoints:
      - provider: nobody
        upstream_model: x
        apis: [chat, smoke]
        pricing: { prompt: 0.00000015, completion: "-1", gold: "1", image: "1e-7" }
  - slug: acme/none
    name: None
    endpoints: []
  - just text
`;
    expect(problemsOf(text, 'surplus: 1\nproviders: {}\n')).toEqual([
      'file-1.yaml surplus: is not a known member',
      'file-0.yaml providers[0].colour: is not a known member',
      ...[0, 1, 2].map(
        (index) =>
          `file-0.yaml providers[0].own_key_hosts[${index}]: must be a host name in lower case such as ai.example.com or *.example.com, with a port or without`,
      ),
      'file-0.yaml providers[0].name: is missing',
      'file-0.yaml providers[0].base_url: must be an http or https URL without login, query or fragment',
      expect.stringMatching(/^file-0.yaml providers\[0\].protocol: must be one of openai, anthropic, /),
      'file-0.yaml providers[0].api_key_env: must be the name of an environment variable',
      'file-0.yaml providers[0].headers: must have names that are valid header names',
      'file-0.yaml providers[0].headers.ok: must be text of one line',
      'file-0.yaml providers[0].batch: must be one of managed, native, none',
      'file-0.yaml providers[0].max_concurrency: must be an integer of at least 1',
      'file-0.yaml providers[1].base_url: must be an http or https URL without login, query or fragment',
      'file-0.yaml providers[1].slug: is the slug of an earlier provider',
      'file-1.yaml providers: must be a list',
      'file-0.yaml models[0].slug: must be a slug <vendor>/<model> that does not end in :batch',
      'file-0.yaml models[0].endpoints[0].provider: is not the slug of a provider',
      'file-0.yaml models[0].endpoints[0].apis[1]: must be one of chat, responses, messages, embeddings, transcription, video',
      'file-0.yaml models[0].endpoints[0].pricing.prompt: must be a decimal string in quotes, such as "0.00000015"',
      'file-0.yaml models[0].endpoints[0].pricing.completion: must not be negative',
      'file-0.yaml models[0].endpoints[0].pricing.gold: is not a known price',
      'file-0.yaml models[0].endpoints[0].pricing.image: must be a plain decimal number of US dollars with at most 18 decimals',
      'file-0.yaml models[0].endpoints[0].pricing: has no price for chat: needs prompt with completion, or request',
      'file-0.yaml models[0].name: must be text of 1 to 300 characters without control characters',
      'file-0.yaml models[0].created: must be an integer of at least 0',
      'file-0.yaml models[1].endpoints: must not be empty',
      'file-0.yaml models[2]: must be a mapping',
    ]);
  });

  it('never repeats a value, because headers may be secret', () => {
    const text = WHOLE.replace('batch: native', 'headers: { Authorization: "hunter2\\u0000" }');
    expect(problemsOf(text)).toHaveLength(1);
    expect(problemsOf(text).join()).not.toContain('hunter2');
    expect(problemsOf(`${WHOLE}\n"hunter2: [`).join()).not.toContain('hunter2');
  });

  it.each([
    ['nothing', ''],
    ['only a comment', '# soon'],
    ['a list', '- 1'],
    ['broken YAML', 'models: ['],
    ['a key twice', 'models: []\nmodels: []'],
    ['two documents', `${WHOLE}\n---\n${WHOLE}`],
    ['an unknown tag', `${WHOLE}    description: !secret x`],
    ['no model', PROVIDER],
  ])('refuses a file that holds %s', (_what, text) => {
    expect(problemsOf(text).length).toBeGreaterThan(0);
  });

  it.each(['acme', 'acme/small:batch', '/small', 'acme/', 'acme/a b', '../x', 'acme/../x'])(
    'refuses the model slug %j',
    (slug) => {
      expect(problemsOf(WHOLE.replace('slug: acme/small', `slug: "${slug}"`))).toHaveLength(1);
    },
  );

  it('refuses an API named twice', () => {
    expect(problemsOf(WHOLE.replace('[chat]', '[chat, chat]'))).toEqual([
      'file-0.yaml models[0].endpoints[0].apis: must not name anything twice',
    ]);
  });

  it('asks for a price for each API that an endpoint speaks', () => {
    const text = WHOLE.replace('[chat]', '[chat, transcription, video]').replace(
      /pricing: .*/,
      'pricing: { image: "1" }',
    );
    expect(problemsOf(text)).toHaveLength(3);
  });

  it('takes other protocols when told so', () => {
    const text = WHOLE.replace('protocol: openai', 'protocol: smoke');
    const catalogue = parseCatalogue([{ name: 'a.yaml', text }], { protocols: ['smoke'] });
    expect(catalogue.providers()[0]?.protocol).toBe('smoke');
  });

  it('has the hash of its content', () => {
    expect(parse(WHOLE).hash).toBe(parse(`# a comment\n${WHOLE}`).hash);
    expect(parse(WHOLE).hash).not.toBe(parse(WHOLE.replace('0.0000006', '0.0000007')).hash);
  });
});
