import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CatalogueError, parseCatalogue, PROTOCOLS, type Catalogue } from '@libs/inference';
import { stringify } from 'yaml';
import { commands } from '../commands';
import type { Installation } from '../installation';
import { EXIT, run } from '../run';
import { MOST_DEPLOYMENTS } from './litellm-config';
import { decimalOf } from './litellm-prices';

const REAL_LOOKING = readFileSync(join(__dirname, 'testing/real-looking.yaml'), 'utf8');
/** The keys and passwords of that file. */
const SECRETS = REAL_LOOKING.match(/[\w-]*secret\b[\w-]*/g) ?? [];

/** The catalogue in use: what OpenAI charges, and who has a short name already. */
const IN_USE = `
providers:
  - slug: openai
    name: OpenAI
    base_url: https://api.openai.com/v1
    protocol: openai
    api_key_env: OPENAI_API_KEY
    data_policy: { retains_prompts: true, trains_on_prompts: false, zdr: false }
    batch: native
    max_concurrency: 256
models:
  - slug: openai/gpt-4o-mini
    aliases: [gpt-4o-mini]
    name: GPT-4o mini
    created: 1721260800
    context_length: 128000
    architecture: { input_modalities: [text, image] }
    supported_parameters: [temperature, tools]
    endpoints:
      - provider: openai
        upstream_model: gpt-4o-mini
        apis: [chat, responses]
        pricing: { prompt: "0.00000015", completion: "0.0000006" }
        tool_pricing: { file_search: "0.0025" }
        max_completion_tokens: 16384
`;

/** With prices of batches that are not half, another rule for prompts, and options of a transcription. */
const IN_USE_WITH_MORE = `${IN_USE.trimEnd()}
        batch_pricing: { prompt: "0.00000014", completion: "0.0000006" }
        zdr: true
  - slug: openai/whisper-1
    name: Whisper
    endpoints:
      - provider: openai
        upstream_model: whisper-1
        apis: [transcription]
        pricing: { audio_second: "0.0001" }
        option_pricing: { keyterms: "0.00001" }
`;

let folder: string;
let printed: string[];
let complained: string[];
let inUse: () => Promise<Catalogue>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-import-'));
  inUse = () => Promise.resolve(parseCatalogue([{ name: 'in-use.yaml', text: IN_USE }]));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
  delete process.env['TEST_API_BASE'];
});

function importFile(path: string, ...more: readonly string[]): Promise<number> {
  printed = [];
  complained = [];
  const output = { print: (text: string) => printed.push(text), complain: (text: string) => complained.push(text) };
  const installation = { catalogue: () => inUse() } as unknown as Installation;
  return run(['catalog', 'import', path, ...more], commands, installation, output);
}

function importText(text: string, ...more: readonly string[]): Promise<number> {
  const path = join(folder, 'litellm.yaml');
  writeFileSync(path, text);
  return importFile(path, ...more);
}

function importList(list: readonly unknown[], sections: object = {}): Promise<number> {
  return importText(stringify({ model_list: list, ...sections }));
}

function entry(name: string, params: object, info?: object): object {
  return { model_name: name, litellm_params: params, ...(info && { model_info: info }) };
}

/** What was printed, as the gateway reads it. */
function catalogue(): Catalogue {
  return parseCatalogue([{ name: 'printed.yaml', text: printed.join('\n') }], { protocols: PROTOCOLS });
}

function endpointsOf(name: string) {
  return catalogue().findModel(name)?.endpoints ?? [];
}

const notes = (): string => complained.join('\n');

describe('sluice catalog import', () => {
  it('makes one model of the deployments of one name, which callers go on to use', async () => {
    expect(await importText(REAL_LOOKING)).toBe(EXIT.ok);
    expect(endpointsOf('gpt-4o')).toMatchObject([
      {
        upstreamModel: 'gpt-4o-eu',
        provider: {
          protocol: 'azure',
          baseUrl: 'https://acme-eu.openai.azure.com/openai/v1',
          apiKeyEnv: 'AZURE_API_KEY_EU',
        },
      },
      { upstreamModel: 'gpt-4o', provider: { baseUrl: 'https://api.openai.com/v1', apiKeyEnv: 'OPENAI_API_KEY' } },
    ]);
    // A further name of the router leads to the same model.
    expect(catalogue().findModel('gpt-4')?.slug).toBe(catalogue().findModel('gpt-4o')?.slug);
    expect(catalogue().findModel('house/llama')?.slug).toBe('house/llama');
  });

  it('reads prices, contexts and places of a model server of one’s own', async () => {
    await importText(REAL_LOOKING);
    expect(endpointsOf('house/llama')).toMatchObject([
      {
        upstreamModel: 'meta-llama/Llama-3.3-70B-Instruct',
        listedPricing: { prompt: '0.00000025', completion: '0.00000075' },
        contextLength: 131_072,
        maxCompletionTokens: 8_192,
        provider: { baseUrl: 'http://vllm.models.svc.cluster.local:8000/v1', protocol: 'openai', apiKeyEnv: null },
      },
    ]);
    expect(endpointsOf('small')).toMatchObject([
      { upstreamModel: 'llama3.2:3b', provider: { baseUrl: 'http://localhost:11434/v1', apiKeyEnv: null } },
    ]);
  });

  it('writes no key of the file anywhere, and says into which variable each belongs', async () => {
    await importText(REAL_LOOKING);
    expect(SECRETS).toHaveLength(7);
    for (const text of [printed.join(), notes()]) for (const secret of SECRETS) expect(text).not.toContain(secret);
    expect(endpointsOf('claude-sonnet')).toMatchObject([
      { apis: ['messages'], provider: { slug: 'anthropic', apiKeyEnv: 'ANTHROPIC_API_KEY' } },
      { apis: ['messages'], provider: { slug: 'anthropic-2', apiKeyEnv: 'ANTHROPIC_API_KEY_2' } },
    ]);
    expect(notes()).toContain(
      'model_list[3] api_key: the key is in the file, and is written nowhere: put it into the variable ANTHROPIC_API_KEY_2.',
    );
  });

  it('gives a key in the file no variable that another deployment reads', async () => {
    await importList([
      entry('a', { model: 'openai/a', api_key: 'sk-one', api_base: 'https://a.example.com/v1' }),
      entry('b', { model: 'openai/b', api_key: 'os.environ/OPENAI_API_KEY' }),
      entry('d', { model: 'openai/d', api_key: 'os.environ/OPENAI_COMPATIBLE_API_KEY' }),
      entry('c', { model: 'openai/c', api_key: 'sk-one', api_base: 'https://c.example.com/v1' }),
    ]);
    const variables = ['a', 'b', 'c'].map((name) => endpointsOf(name)[0]?.provider.apiKeyEnv);
    expect(variables).toEqual(['OPENAI_COMPATIBLE_API_KEY_2', 'OPENAI_API_KEY', 'OPENAI_COMPATIBLE_API_KEY_2']);
  });

  it('names everything that could not be converted, in the file and on stderr', async () => {
    await importText(REAL_LOOKING);
    const named = [
      'model_list[0] rpm, model_list[1] rpm',
      'model_list[5] max_tokens',
      'Sluice has no wildcards',
      'stability is no provider that Sluice can call',
      'model_list[11]: skipped',
      'litellm_settings.fallbacks',
      'router_settings.routing_strategy',
      'general_settings.master_key',
      'environment_variables',
      'AWS_BEARER_TOKEN_BEDROCK',
    ];
    for (const text of [printed.join(), notes()]) for (const what of named) expect(text).toContain(what);
  });

  it('takes what the file leaves out from the catalogue in use: prices, tools, contexts and data policies', async () => {
    await importList([entry('fast', { model: 'gpt-4o-mini' })]);
    const [endpoint] = endpointsOf('fast');
    expect(endpoint).toMatchObject({
      apis: ['chat', 'responses'],
      listedPricing: { prompt: '0.00000015', completion: '0.0000006' },
      pricing: { tools: { file_search: 2_500_000_000_000_000n } },
      contextLength: 128_000,
      maxCompletionTokens: 16_384,
      provider: { batch: 'native', maxConcurrency: 256, dataPolicy: { trainsOnPrompts: false } },
    });
    expect(catalogue().findModel('fast')).toMatchObject({
      slug: 'openai/fast',
      contextLength: 128_000,
      architecture: { inputModalities: ['text', 'image'] },
      supportedParameters: ['temperature', 'tools'],
    });
    expect(complained).toEqual([]);
  });

  it('prefers the prices of the file to those of the catalogue in use', async () => {
    const params = { model: 'openai/gpt-4o-mini', input_cost_per_token: 3e-7, output_cost_per_token: '1.2e-06' };
    await importList([entry('fast', params, { cache_read_input_token_cost: 0 })]);
    expect(endpointsOf('fast')[0]?.listedPricing).toEqual({
      prompt: '0.0000003',
      completion: '0.0000012',
      input_cache_read: '0',
    });
  });

  it('takes every price of the catalogue in use: of batches and of options too', async () => {
    inUse = () => Promise.resolve(parseCatalogue([{ name: 'in-use.yaml', text: IN_USE_WITH_MORE }]));
    await importList([
      entry('fast', { model: 'openai/gpt-4o-mini' }),
      entry('ears', { model: 'openai/whisper-1' }, { mode: 'audio_transcription' }),
    ]);
    expect(endpointsOf('fast')[0]).toMatchObject({
      listedBatchPricing: { prompt: '0.00000014', completion: '0.0000006' },
      zdr: true,
    });
    expect(endpointsOf('ears')[0]?.pricing).toMatchObject({ audioOptions: { keyterms: 10_000_000_000_000n } });
    expect(complained).toEqual([]);
  });

  it('takes a price that the file leaves out from the catalogue in use, and batches at half of those', async () => {
    inUse = () => Promise.resolve(parseCatalogue([{ name: 'in-use.yaml', text: IN_USE_WITH_MORE }]));
    await importList([entry('fast', { model: 'openai/gpt-4o-mini', input_cost_per_token: 4e-7 })]);
    expect(endpointsOf('fast')[0]).toMatchObject({
      listedPricing: { prompt: '0.0000004', completion: '0.0000006' },
      listedBatchPricing: { prompt: '0.0000002', completion: '0.0000003' },
    });
    expect(notes()).toContain('model_list[0]: its price for completion is that of the catalogue in use.');
  });

  it('takes only the prices for input and output where the file has one', async () => {
    const text = IN_USE.replace('0.0000006" }', '0.0000006", input_cache_read: "0.00000007" }');
    inUse = () => Promise.resolve(parseCatalogue([{ name: 'in-use.yaml', text }]));
    await importList([
      entry('some', { model: 'openai/gpt-4o-mini', input_cost_per_token: 4e-7, api_key: 'os.environ/ONE' }),
      entry('none', { model: 'openai/gpt-4o-mini', api_key: 'os.environ/TWO' }),
    ]);
    expect(endpointsOf('some')[0]?.listedPricing).toEqual({ prompt: '0.0000004', completion: '0.0000006' });
    expect(endpointsOf('none')[0]?.listedPricing).toMatchObject({ input_cache_read: '0.00000007' });
  });

  it.each([{ input_cost_per_token: 4e-7 }, { input_cost_per_token: 4e-7, output_cost_per_token: -1 }])(
    'says what is free where the file has %j and the catalogue in use has no price',
    async (costs) => {
      await importList([entry('own', { model: 'openai/own', ...costs })]);
      expect(endpointsOf('own')[0]?.listedPricing).toEqual({ prompt: '0.0000004', completion: '0' });
      expect(notes()).toContain('model_list[0]: it has no price for completion: that is free until you write one');
    },
  );

  it('names prices of a model that it does not convert, unless they are empty', async () => {
    const costs = { input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };
    const more = {
      input_cost_per_token_above_200k_tokens: 4e-6,
      output_cost_per_second: null,
      input_cost_per_query: 0,
    };
    await importList([entry('own', { model: 'openai/own' }, { ...costs, ...more })]);
    expect(complained).toEqual([
      expect.stringContaining('model_list[0] input_cost_per_token_above_200k_tokens: this price is not converted'),
    ]);
  });

  it('takes no price of a provider for a server at another place', async () => {
    await importList([entry('fast', { model: 'openai/gpt-4o-mini', api_base: 'http://127.0.0.1:9/v1' })]);
    expect(endpointsOf('fast')[0]).toMatchObject({
      listedPricing: { prompt: '0', completion: '0' },
      provider: { apiKeyEnv: null },
    });
    expect(notes()).toContain('calls are free until you write one');
    expect(notes()).toContain('no key is sent');
  });

  it('calls a server with the API of a maker otherwise than the maker, whose keys must not reach it', async () => {
    const api_base = 'http://127.0.0.1:9/v1';
    await importList([
      entry('own', { model: 'openai/own', api_base, api_key: 'sk-one' }),
      entry('keyless', { model: 'openai/keyless', api_base }),
      entry('relay', { model: 'anthropic/claude-x', api_base: 'https://relay.example.com', api_key: 'sk-two' }),
    ]);
    const providerOf = (name: string) => endpointsOf(name)[0]?.provider;
    expect(providerOf('own')).toMatchObject({ slug: 'openai-compatible', apiKeyEnv: 'OPENAI_COMPATIBLE_API_KEY' });
    expect(providerOf('keyless')).toMatchObject({ slug: 'openai-compatible-2', apiKeyEnv: null });
    expect(providerOf('relay')).toMatchObject({
      slug: 'anthropic-compatible',
      apiKeyEnv: 'ANTHROPIC_COMPATIBLE_API_KEY',
    });
    expect(catalogue().findModel('keyless')?.slug).toBe('openai-compatible/keyless');
  });

  it('says which names the catalogue in use has for other models', async () => {
    await importList([entry('gpt-4o-mini', { model: 'openrouter/openai/gpt-4o-mini' })]);
    expect(notes()).toContain('gpt-4o-mini: the catalogue in use has this name for another model');
  });

  it('imports without the catalogue in use where that has problems, and says so', async () => {
    inUse = () => Promise.reject(new CatalogueError([{ file: 'x', path: '', message: 'is empty' }]));
    expect(await importList([entry('fast', { model: 'gpt-4o-mini' })])).toBe(EXIT.ok);
    expect(endpointsOf('fast')[0]?.listedPricing).toEqual({ prompt: '0', completion: '0' });
    expect(notes()).toContain('CATALOG_PATH');
  });

  it('reads a place from the variable that the file names, and says which where it has no value', async () => {
    const params = {
      model: 'azure/our-gpt',
      api_base: 'os.environ/TEST_API_BASE',
      api_key: 'os.environ/AZURE_API_KEY',
    };
    expect(await importList([entry('a', params), entry('b', { model: 'gpt-4o-mini' })])).toBe(EXIT.ok);
    expect(endpointsOf('a')).toEqual([]);
    expect(notes()).toContain('set TEST_API_BASE where you run this command');
    process.env['TEST_API_BASE'] = 'https://acme.openai.azure.com';
    await importList([entry('a', params)]);
    expect(endpointsOf('a')[0]?.provider.baseUrl).toBe('https://acme.openai.azure.com/openai/v1');
  });

  it.each([
    ['https://acme.openai.azure.com/openai/deployments/our-gpt', 'https://acme.openai.azure.com/openai/v1'],
    ['https://acme.services.ai.azure.com/models', 'https://acme.services.ai.azure.com/openai/v1'],
    ['https://acme.openai.azure.com/openai/v1/', 'https://acme.openai.azure.com/openai/v1'],
  ])('finds the API without versions behind %s', async (base, expected) => {
    await importList([entry('a', { model: 'azure/our-gpt', api_base: base, api_key: 'os.environ/AZURE_API_KEY' })]);
    expect(endpointsOf('a')[0]?.provider.baseUrl).toBe(expected);
  });

  it.each<[string, object, string, readonly string[]]>([
    ['anthropic/claude-x', {}, 'https://api.anthropic.com/v1', ['messages']],
    ['anthropic/claude-x', { api_base: 'https://relay.example.com' }, 'https://relay.example.com/v1', ['messages']],
    [
      'bedrock/converse/anthropic.claude-x',
      { aws_region_name: 'eu-west-1' },
      'https://bedrock-runtime.eu-west-1.amazonaws.com',
      ['chat', 'messages'],
    ],
    [
      'vertex_ai/gemini-x',
      { vertex_location: 'us-central1' },
      'https://us-central1-aiplatform.googleapis.com/v1',
      ['chat'],
    ],
    ['vertex_ai/claude-x', {}, 'https://aiplatform.googleapis.com/v1', ['messages']],
    ['deepgram/nova-3', {}, 'https://api.deepgram.com/v1', ['transcription']],
    ['openai/whisper-1', {}, 'https://api.openai.com/v1', ['transcription']],
    ['text-embedding-3-large', {}, 'https://api.openai.com/v1', ['embeddings']],
    ['some-model', { custom_llm_provider: 'groq' }, 'https://api.groq.com/openai/v1', ['chat']],
  ])('knows where %s with %j is', async (model, params, baseUrl, apis) => {
    expect(await importList([entry('m', { model, ...params })])).toBe(EXIT.ok);
    expect(endpointsOf('m')).toMatchObject([{ apis, provider: { baseUrl } }]);
  });

  it.each<[string, unknown, string]>([
    ['without a name', { litellm_params: { model: 'gpt-4o' } }, 'it has no model_name'],
    ['without a model', { model_name: 'x' }, 'it has no litellm_params.model'],
    ['that is no mapping', 'gpt-4o', 'it has no model_name'],
    ['of an unknown provider', entry('x', { model: 'sagemaker/endpoint' }), 'sagemaker is no provider'],
    ['of an unknown model', entry('x', { model: 'mystery' }), 'has no provider in front'],
    ['with a key for a provider', entry('x', { model: 'SK-Secret9/x' }), 'its provider is not known'],
    [
      'that makes pictures',
      entry('x', { model: 'gpt-image-1' }, { mode: 'image_generation' }),
      'does not have this API',
    ],
    ['without a place', entry('x', { model: 'hosted_vllm/m' }), 'it has no api_base'],
    [
      'with a login in its place',
      entry('x', { model: 'openai/m', api_base: 'https://u:SK-Secret9@h/v1' }),
      'no http or https URL',
    ],
    ['at a place that is none', entry('x', { model: 'openai/m', api_base: 'ftp://h' }), 'no http or https URL'],
    ['without a name behind its provider', entry('x', { model: 'openai/' }), 'it has no model behind its provider'],
    ['with a control character', entry('x\u001b[2J', { model: 'openai/m' }), 'control characters'],
  ])('leaves out an entry %s, and says why', async (_case, given, reason) => {
    expect(await importList([given, entry('good', { model: 'gpt-4o-mini' })])).toBe(EXIT.ok);
    expect(
      catalogue()
        .models()
        .map(({ slug }) => slug),
    ).toEqual(['openai/good']);
    expect(notes()).toContain(reason);
    expect(notes()).toContain('model_list[0]');
    for (const text of ['SK-Secret9', '\u001b']) expect([...printed, ...complained].join()).not.toContain(text);
  });

  it('fails where nothing can be converted, and says why', async () => {
    expect(await importList([entry('x', { model: 'sagemaker/endpoint' })])).toBe(EXIT.failure);
    expect(notes()).toContain('sagemaker is no provider');
    expect(printed).toEqual([]);
  });

  it('leaves out a deployment that is the same as an earlier one', async () => {
    const same = entry('x', { model: 'gpt-4o-mini', rpm: 5 });
    await importList([same, same]);
    expect(endpointsOf('x')).toHaveLength(1);
    expect(notes()).toContain('model_list[1]: skipped: an earlier one');
  });

  it('finds a slug for names that are none, and says it', async () => {
    await importList([
      entry('GPT 4 (team)', { model: 'gpt-4o-mini' }),
      entry('openai/gpt-4-team', { model: 'gpt-4o-mini' }),
      entry('m:batch', { model: 'gpt-4o-mini' }),
    ]);
    expect(
      catalogue()
        .models()
        .map(({ slug }) => slug),
    ).toEqual(['openai/gpt-4-team', 'openai/gpt-4-team-2', 'openai/m-batch']);
    expect(notes()).toContain('callers say openai/gpt-4-team-2');
  });

  it('leaves out aliases of the router that lead nowhere or are models themselves', async () => {
    const list = [entry('a', { model: 'gpt-4o-mini' }), entry('b', { model: 'gpt-4o-mini' })];
    const more = { one: 'a', two: { model: 'a', hidden: true }, three: 'nowhere', b: 'a', 'not a name': 'a' };
    await importList(list, { router_settings: { model_group_alias: more } });
    expect(catalogue().findModel('a')?.aliases).toEqual(['a', 'one', 'two']);
    expect(catalogue().findModel('b')?.aliases).toEqual(['b']);
    for (const skipped of ['three', 'b', 'not a name']) {
      expect(notes()).toContain(`router_settings.model_group_alias.${skipped}`);
    }
  });

  it('names members and settings that it does not know', async () => {
    const list = [{ ...entry('x', { model: 'gpt-4o-mini', new_member: 1 }), other: 2 }];
    await importList(list, { general_settings: { new_setting: 1 }, new_section: [1] });
    for (const name of [
      'model_list[0] new_member',
      'model_list[0] other',
      'general_settings.new_setting',
      'new_section',
    ]) {
      expect(notes()).toContain(name);
    }
  });

  it.each<[string, string, string]>([
    ['is no YAML', 'model_list: [ {{{', 'not valid YAML at line 1'],
    ['is a list', '- a\n- b', 'must be a mapping'],
    ['is empty', '', 'must be a mapping'],
    ['has no models', 'router_settings: {}', 'it has no model_list'],
    ['has a list that is none', 'model_list: { a: 1 }', 'model_list must be a list'],
    ['has an unknown alias', 'model_list: [*nothing]', 'alias'],
    [
      'is a bomb of aliases',
      [
        'a: &a [x,x,x,x,x,x,x,x,x]',
        ...'bcdefgh'
          .split('')
          .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[index]}`).join()}]`),
      ].join('\n'),
      'used too often',
    ],
    ['is too long', `# ${' '.repeat(8 * 1024 * 1024)}`, 'more than 8388608 bytes'],
  ])('says what is wrong with a file that %s', async (_case, text, complaint) => {
    expect(await importText(text)).toBe(EXIT.failure);
    expect(notes()).toContain(complaint);
    expect(printed).toEqual([]);
  });

  it('says that a file cannot be opened', async () => {
    expect(await importFile(join(folder, 'none.yaml'))).toBe(EXIT.failure);
    expect(notes()).toContain('ENOENT');
    expect(await importFile(folder)).toBe(EXIT.failure);
    expect(notes()).toContain('EISDIR');
  });

  it('converts as many deployments as it takes, and refuses one more', async () => {
    const list = Array.from({ length: MOST_DEPLOYMENTS }, (_, index) =>
      entry(`m${index % 5_000}`, { model: `openai/u${index}`, api_key: `os.environ/KEY_${index % 100}`, rpm: 1 }),
    );
    expect(await importText(JSON.stringify({ model_list: list }))).toBe(EXIT.ok);
    // The command has read what it printed before it printed it: to read it again takes long.
    const entries = printed
      .join('\n')
      .split('\nmodels:')
      .map((section) => section.match(/^ {2}- slug: /gm)!.length);
    expect(entries).toEqual([100, 5_000]);
    expect(complained.length).toBeLessThan(10);
    const more = Array.from({ length: MOST_DEPLOYMENTS + 1 }, () => ({}));
    expect(await importText(JSON.stringify({ model_list: more }))).toBe(EXIT.failure);
    expect(notes()).toContain(`more than ${MOST_DEPLOYMENTS} entries`);
  }, 60_000);

  it('prints the catalogue and its notes as JSON when asked to', async () => {
    await importText(REAL_LOOKING, '--json');
    const { catalogue: text, notes: said } = JSON.parse(printed.join()) as { catalogue: string; notes: string[] };
    expect(parseCatalogue([{ name: 'json', text }]).models()).toHaveLength(7);
    expect(said.length).toBeGreaterThan(10);
    expect(complained).toEqual([]);
  });
});

describe(decimalOf.name, () => {
  it.each<[unknown, string | null]>([
    [1.5e-7, '0.00000015'],
    ['1.5e-7', '0.00000015'],
    ['1e-06', '0.000001'],
    [0.000003, '0.000003'],
    [2, '2'],
    [10, '10'],
    [0, '0'],
    ['2.9999999999999997e-06', '0.000003'],
    [1e-19, '0'],
    [-1, null],
    ['free', null],
    ['1e999', null],
    ['999999999999999999.5', '999999999999999999.5'],
    ['1e18', null],
    [1e300, null],
    ['1e99', null],
    [Number.NaN, null],
    [{}, null],
  ])('reads %j as %j', (value, expected) => {
    expect(decimalOf(value)).toBe(expected);
  });
});
