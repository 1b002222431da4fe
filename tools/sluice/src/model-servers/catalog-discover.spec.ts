import { parseCatalogue, PROTOCOLS, type Catalogue } from '@libs/inference';
import { commands } from '../commands';
import type { Installation } from '../installation';
import { EXIT, run } from '../run';
import { MOST_MODELS } from './served-model';
import { ServerClient } from './server-client';
import {
  llamaCppAnswers,
  ModelServer,
  ollamaAnswers,
  routes,
  vllmAnswers,
  vllmEmbeddingAnswers,
  type Answer,
  type Answers,
} from './testing/model-server';

const KEY = `server-key-${'k'.repeat(20)}`;

let server: ModelServer;
let printed: string[];
let complained: string[];

async function discover(answers: Answers, ...more: readonly string[]): Promise<number> {
  server = await ModelServer.start(answers);
  return ask(server.url, ...more);
}

function ask(...words: readonly string[]): Promise<number> {
  printed = [];
  complained = [];
  const output = { print: (text: string) => printed.push(text), complain: (text: string) => complained.push(text) };
  return run(['catalog', 'discover', ...words], commands, {} as Installation, output);
}

/** What was printed, as the gateway reads it. */
function catalogue(): Catalogue {
  return parseCatalogue([{ name: 'printed.yaml', text: printed.join('\n') }], { protocols: PROTOCOLS });
}

function endpointOf(slug: string) {
  const model = catalogue().findModel(slug);
  const [endpoint] = model?.endpoints ?? [];
  return { model, endpoint };
}

function listOf(data: readonly unknown[]): Answers {
  return routes({ 'GET /v1/models': { body: { object: 'list', data } } });
}

describe('sluice catalog discover', () => {
  afterEach(async () => {
    delete process.env['TEST_SERVER_KEY'];
    await server?.close();
  });

  it('prints what vLLM serves, with the context that it was started with and the APIs that it has', async () => {
    expect(await discover(vllmAnswers())).toBe(EXIT.ok);
    const { model, endpoint } = endpointOf('vllm/qwen3-8b');
    expect(model).toMatchObject({ name: 'Qwen3-8B', contextLength: 40_960, created: 1_760_000_000 });
    expect(model?.supportedParameters).toEqual(expect.arrayContaining(['top_k', 'tools']));
    expect(endpoint).toMatchObject({
      upstreamModel: 'Qwen/Qwen3-8B',
      apis: ['chat', 'responses'],
      pricing: { prompt: 0n, completion: 0n },
      provider: { slug: 'vllm', baseUrl: `${server.url}/v1`, protocol: 'openai', apiKeyEnv: null },
    });
  });

  it('gives an adapter of vLLM the context of its model', async () => {
    await discover(vllmAnswers());
    expect(endpointOf('vllm/sql-lora').endpoint).toMatchObject({ upstreamModel: 'sql-lora', contextLength: 40_960 });
  });

  it('knows a model for embeddings at vLLM by embedding one letter', async () => {
    expect(await discover(vllmEmbeddingAnswers())).toBe(EXIT.ok);
    expect(endpointOf('vllm/bge-m3').endpoint).toMatchObject({ apis: ['embeddings'], contextLength: 8_192 });
  });

  it('prints what Ollama serves, with what each model can do', async () => {
    expect(await discover(ollamaAnswers())).toBe(EXIT.ok);
    const llama = endpointOf('ollama/llama3.2-3b');
    expect(llama.endpoint).toMatchObject({
      upstreamModel: 'llama3.2:3b',
      apis: ['chat', 'responses'],
      quantization: 'int4',
    });
    expect(llama.model?.supportedParameters).toContain('tools');
    const gemma = endpointOf('ollama/gemma3').model;
    expect(gemma).toMatchObject({ name: 'gemma3', architecture: { inputModalities: ['text', 'image'] } });
    expect(gemma?.supportedParameters).not.toContain('tools');
    const embedding = endpointOf('ollama/nomic-embed-text');
    expect(embedding.endpoint).toMatchObject({ apis: ['embeddings'], quantization: 'fp16' });
    expect(catalogue().providers()).toMatchObject([{ slug: 'ollama', maxConcurrency: 4 }]);
  });

  it('takes the context of a model at Ollama from memory, then from its file, then from what it can read', async () => {
    await discover(ollamaAnswers());
    const lengthOf = (slug: string) => endpointOf(slug).model?.contextLength;
    expect(lengthOf('ollama/qwen3-8b')).toBe(4_096);
    expect(lengthOf('ollama/gemma3')).toBe(16_384);
    expect(lengthOf('ollama/llama3.2-3b')).toBe(131_072);
    // More than the model can read is of no use.
    expect(lengthOf('ollama/nomic-embed-text')).toBe(2_048);
  });

  it('says where Ollama may cut prompts, in the file and on stderr', async () => {
    await discover(ollamaAnswers());
    for (const text of [printed.join(), complained.join()]) expect(text).toContain('OLLAMA_CONTEXT_LENGTH');
    expect(complained.join()).toMatch(/^llama3\.2:3b: /);
    expect(complained.join()).not.toContain('qwen3');
  });

  it('lists responses for versions of Ollama that have them', async () => {
    for (const [version, apis] of [
      ['0.13.2', ['chat']],
      ['0.13.3', ['chat', 'responses']],
      ['0.20.0-rc1', ['chat', 'responses']],
      ['1.0', ['chat', 'responses']],
      ['0.6', ['chat']],
    ] as const) {
      await discover(ollamaAnswers(version));
      expect(endpointOf('ollama/qwen3-8b').endpoint?.apis).toEqual(apis);
      await server.close();
    }
  });

  it('prints what llama.cpp serves, with the context of a slot and as many calls as it has slots', async () => {
    expect(await discover(llamaCppAnswers())).toBe(EXIT.ok);
    const { model, endpoint } = endpointOf('llama-cpp/meta-llama-3.1-8b-instruct-q4_k_m');
    expect(model).toMatchObject({ contextLength: 8_192, architecture: { inputModalities: ['text', 'image'] } });
    expect(endpoint).toMatchObject({
      upstreamModel: '../models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf',
      apis: ['chat'],
      provider: { slug: 'llama-cpp', maxConcurrency: 2 },
    });
  });

  it('asks a llama.cpp with several models nothing that would load one', async () => {
    const cards = ['qwen3-8b', 'nomic-embed-text'].map((id) => ({
      id,
      object: 'model',
      owned_by: 'llamacpp',
      meta: null,
    }));
    const answers = routes({
      'GET /v1/models': { body: { object: 'list', data: cards } },
      'GET /props': { body: { role: 'router', default_generation_settings: { n_ctx: 0 } } },
    });
    expect(await discover(answers)).toBe(EXIT.ok);
    expect(endpointOf('llama-cpp/qwen3-8b').endpoint).toMatchObject({ apis: ['chat'], contextLength: null });
    expect(endpointOf('llama-cpp/nomic-embed-text').endpoint).toMatchObject({ apis: ['embeddings'] });
    expect(server.seen.filter(({ method }) => method === 'POST')).toEqual([]);
    expect(complained.join()).toContain('guessed');
  });

  it('prints the models of any other server with such a list, and says what it guessed', async () => {
    const cards = [
      { id: 'org/chatty', object: 'model', owned_by: 'sglang', max_model_len: 32_768 },
      { id: 'text-embedding-x', object: 'model' },
      { id: 'whisper-large-v3', object: 'model' },
    ];
    expect(await discover(listOf(cards), '--name', 'gpu-1')).toBe(EXIT.ok);
    expect(endpointOf('gpu-1/chatty').endpoint).toMatchObject({ apis: ['chat'], contextLength: 32_768 });
    expect(endpointOf('gpu-1/text-embedding-x').endpoint?.apis).toEqual(['embeddings']);
    expect(endpointOf('gpu-1/whisper-large-v3').endpoint?.apis).toEqual(['transcription']);
    expect(complained.join()).toContain('guessed');
  });

  it('takes an address with /v1 and slashes as the same server', async () => {
    server = await ModelServer.start(vllmAnswers());
    for (const address of [`${server.url}/v1`, `${server.url}/v1/`, `${server.url}/`]) {
      expect(await ask(address)).toBe(EXIT.ok);
      expect(catalogue().providers()).toMatchObject([{ baseUrl: `${server.url}/v1` }]);
    }
  });

  it('sends the key of a variable, names the variable in the catalogue, and shows the key nowhere', async () => {
    process.env['TEST_SERVER_KEY'] = KEY;
    expect(await discover(vllmAnswers(), '--key-env', 'TEST_SERVER_KEY')).toBe(EXIT.ok);
    expect(new Set(server.seen.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${KEY}`]));
    expect(catalogue().providers()).toMatchObject([{ apiKeyEnv: 'TEST_SERVER_KEY' }]);
    expect([...printed, ...complained].join()).not.toContain(KEY);
  });

  it('follows no redirect, which would take the key along', async () => {
    const other = await ModelServer.start(vllmAnswers());
    process.env['TEST_SERVER_KEY'] = KEY;
    const moved: Answer = { status: 302, headers: { location: `${other.url}/v1/models` }, body: '' };
    expect(await discover(routes({ 'GET /v1/models': moved }), '--key-env', 'TEST_SERVER_KEY')).toBe(EXIT.failure);
    expect(other.seen).toEqual([]);
    expect(complained.join()).toContain('answered 302');
    await other.close();
  });

  it.each([
    ['ftp://127.0.0.1/models', 'http or https'],
    ['file:///etc/passwd', 'http or https'],
    ['127.0.0.1:8000', 'http or https'],
    ['http://user:pa55word@127.0.0.1:8000', 'must not have a login'],
    ['http://127.0.0.1:8000/v1?key=pa55word', 'must not have a query'],
  ])('refuses the address %s without repeating it', async (address, complaint) => {
    expect(await ask(address)).toBe(EXIT.usage);
    expect(complained.join()).toContain(complaint);
    expect(complained.join()).not.toContain('pa55word');
  });

  it.each([
    [['--name', 'Big Card'], '--name must be a slug'],
    [['--name', 'a/b'], '--name must be a slug'],
    [['--key-env', `sk-${KEY}`], '--key-env must be the name of a variable'],
    [['--key-env', 'TEST_SERVER_KEY'], 'TEST_SERVER_KEY, which has no value here'],
  ])('refuses %j', async (options, complaint) => {
    expect(await ask('http://127.0.0.1:9', ...options)).toBe(EXIT.usage);
    expect(complained.join()).toContain(complaint);
    expect(complained.join()).not.toContain(KEY);
  });

  it.each<[string, Answer, string]>([
    ['wants a key', { status: 401, body: { error: 'Unauthorized' } }, '--key-env'],
    ['is something else', { status: 404, body: '<html>secret page</html>' }, "is it a model server with OpenAI's API?"],
    ['loads its model', { status: 503, body: { error: { message: 'Loading model' } } }, 'answered 503'],
    ['answers no JSON', { body: '<html>secret page</html>' }, 'without a list of models'],
    ['answers a list of another form', { body: { data: 'secret page' } }, 'without a list of models'],
    ['has no models', { body: { object: 'list', data: null } }, 'has no models yet'],
    ['answers without end', { body: ' '.repeat(8 * 1024 * 1024 + 1) }, 'more than 8388608 bytes'],
  ])('says what is wrong where the server %s', async (_case, answer, complaint) => {
    expect(await discover(routes({ 'GET /v1/models': answer }))).toBe(EXIT.failure);
    expect(complained.join()).toContain(complaint);
    expect(complained.join()).not.toContain('secret page');
    expect(printed).toEqual([]);
  });

  it('says that nothing listens at the address', async () => {
    server = await ModelServer.start(vllmAnswers());
    await server.close();
    expect(await ask(server.url)).toBe(EXIT.failure);
    expect(complained.join()).toContain('ECONNREFUSED');
  });

  it('refuses a server with more models than it takes', async () => {
    const cards = Array.from({ length: MOST_MODELS + 1 }, (_, index) => ({ id: `m${index}`, object: 'model' }));
    expect(await discover(listOf(cards))).toBe(EXIT.failure);
    expect(complained.join()).toContain(`more than ${MOST_MODELS} models`);
  });

  it('asks Ollama about no model of a list that is too long', async () => {
    const tags = Array.from({ length: MOST_MODELS + 1 }, (_, index) => ({ name: `m${index}` }));
    const answers = ollamaAnswers();
    const long: Answers = (request) => (request.path === '/api/tags' ? { body: { models: tags } } : answers(request));
    expect(await discover(long)).toBe(EXIT.failure);
    expect(complained.join()).toContain(`more than ${MOST_MODELS} models`);
    expect(server.seen.filter(({ path }) => path === '/api/show')).toEqual([]);
  });

  it('prints a model once that the server lists for each of its copies', async () => {
    expect(await discover(listOf([{ id: 'llama' }, { id: 'qwen' }, { id: 'llama' }]))).toBe(EXIT.ok);
    expect(
      catalogue()
        .models()
        .map(({ slug }) => slug),
    ).toEqual(['local/llama', 'local/qwen']);
  });

  it('gives each of many models a slug of its own', async () => {
    const ids = ['a/Llama', 'b/llama', 'c/llama:latest', 'ünïcode', '***', '---'];
    expect(await discover(listOf(ids.map((id) => ({ id, object: 'model' }))))).toBe(EXIT.ok);
    const models = catalogue().models();
    expect(models.map(({ endpoints }) => endpoints[0]?.upstreamModel)).toEqual(ids);
    expect(models.map(({ slug }) => slug)).toEqual([
      'local/llama',
      'local/llama-2',
      'local/llama-3',
      'local/n-code',
      'local/model',
      'local/model-2',
    ]);
  });

  it('lets no name of a model write into the file or the terminal', async () => {
    const ids = [
      'x\n- slug: evil/model',
      'clear\u001b[2Jscreen',
      'turned\u202eround',
      'q": "y" # {',
      '🦙 : [*&!|>%@`]',
    ];
    expect(await discover(listOf(ids.map((id) => ({ id, object: 'model' }))))).toBe(EXIT.ok);
    expect(
      catalogue()
        .models()
        .map(({ endpoints }) => endpoints[0]?.upstreamModel),
    ).toEqual(ids.slice(3));
    expect(complained.filter((line) => line.includes('is left out'))).toHaveLength(3);
    expect([...printed, ...complained].join('')).not.toContain('\u001b');
  });

  it('fails where no model can be called', async () => {
    const card = { id: 'm', object: 'model', owned_by: 'vllm' };
    expect(await discover(listOf([card]))).toBe(EXIT.failure);
    expect(complained.join()).toContain('neither chat completions nor embeddings');
  });

  it('prints the catalogue and its notes as JSON when asked to', async () => {
    await discover(ollamaAnswers(), '--json');
    const { catalogue: text, notes } = JSON.parse(printed.join()) as { catalogue: string; notes: string[] };
    expect(parseCatalogue([{ name: 'json', text }]).models()).toHaveLength(4);
    expect(notes).toHaveLength(1);
    expect(complained).toEqual([]);
  });
});

describe(ServerClient.name, () => {
  it('waits for no answer longer than it may', async () => {
    server = await ModelServer.start(() => null);
    const client = new ServerClient(server.url, null, { timeoutMs: 50, totalMs: 10_000, bytes: 1_000 });
    await expect(client.get('/v1/models')).rejects.toMatchObject({
      internal: expect.stringContaining('no answer in time'),
    });
    await server.close();
  });

  it('asks nothing more once all answers together took too long', async () => {
    server = await ModelServer.start(vllmAnswers());
    const client = new ServerClient(server.url, null, { timeoutMs: 50, totalMs: 0, bytes: 1_000 });
    await expect(client.get('/v1/models')).rejects.toMatchObject({
      internal: expect.stringContaining('all questions'),
    });
    expect(server.seen).toEqual([]);
    await server.close();
  });
});
