import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A status with a text, or with an object that is sent as JSON. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | object;
}

/** Null leaves a request without an answer. */
export type Answers = (request: SeenRequest) => Answer | null;

/** A model server on loopback that answers as it is written. */
export class ModelServer {
  readonly seen: SeenRequest[] = [];

  private constructor(
    private readonly server: Server,
    /** Without the `/v1` of its OpenAI-compatible routes. */
    readonly url: string,
  ) {}

  static async start(answers: Answers): Promise<ModelServer> {
    const server = createServer((request, response) => {
      void seenOf(request).then((seen) => {
        started.seen.push(seen);
        const given = answers(seen);
        if (given === null) return;
        const text = typeof given.body === 'string' ? given.body : JSON.stringify(given.body);
        response.writeHead(given.status ?? 200, { 'content-type': 'application/json', ...given.headers }).end(text);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const started = new ModelServer(server, `http://127.0.0.1:${port}`);
    return started;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    await closed;
  }
}

async function seenOf(request: IncomingMessage): Promise<SeenRequest> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return {
    method: request.method ?? '',
    path: new URL(request.url ?? '/', 'http://127.0.0.1').pathname,
    authorization: request.headers.authorization,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

const NOT_FOUND: Answer = { status: 404, body: { detail: 'Not Found' } };

/** Answers by method and path; anything else is 404. */
export function routes(table: Readonly<Record<string, Answer | ((request: SeenRequest) => Answer)>>): Answers {
  return (request) => {
    const answer = table[`${request.method} ${request.path}`] ?? NOT_FOUND;
    return typeof answer === 'function' ? answer(request) : answer;
  };
}

/** A chat completion in the form that all of these servers give. */
export function chatCompletion({ body: { model } }: SeenRequest, text: string): Answer {
  const choice = { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' };
  const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
  return {
    body: { id: 'chatcmpl-1', object: 'chat.completion', created: 1_760_000_000, model, choices: [choice], usage },
  };
}

/** A conversation's answer, or the refusal of a request without messages. */
function chatRoute(text: string): (request: SeenRequest) => Answer {
  return (request) => {
    if (Array.isArray(request.body['messages'])) return chatCompletion(request, text);
    return {
      status: 400,
      body: { error: { message: "'messages' is required", type: 'invalid_request_error', code: 400 } },
    };
  };
}

const INCOMPLETE: Answer = {
  status: 400,
  body: { error: { message: 'Field required', type: 'Bad Request', code: 400 } },
};

/** vLLM with a model and an adapter of it, as its API server lists them. */
export function vllmAnswers(): Answers {
  const permission = [{ id: 'modelperm-1', object: 'model_permission', created: 1_760_000_000, allow_sampling: true }];
  const card = { object: 'model', created: 1_760_000_000, owned_by: 'vllm', permission };
  const base = { ...card, id: 'Qwen/Qwen3-8B', root: 'Qwen/Qwen3-8B', parent: null, max_model_len: 40_960 };
  const adapter = { ...card, id: 'sql-lora', root: '/adapters/sql', parent: 'Qwen/Qwen3-8B', max_model_len: null };
  return routes({
    'GET /v1/models': { body: { object: 'list', data: [base, adapter] } },
    'POST /v1/embeddings': {
      status: 501,
      body: { error: { message: 'The model does not support Embeddings API', type: 'NotImplementedError', code: 501 } },
    },
    'POST /v1/chat/completions': chatRoute('vLLM says hello.'),
    'POST /v1/responses': INCOMPLETE,
  });
}

/** vLLM with a model for embeddings, in a version that has all routes for every model. */
export function vllmEmbeddingAnswers(): Answers {
  const card = {
    id: 'BAAI/bge-m3',
    object: 'model',
    owned_by: 'vllm',
    root: 'BAAI/bge-m3',
    parent: null,
    max_model_len: 8_192,
  };
  return routes({
    'GET /v1/models': { body: { object: 'list', data: [card] } },
    'POST /v1/embeddings': { body: { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }] } },
    'POST /v1/chat/completions': INCOMPLETE,
    'POST /v1/responses': INCOMPLETE,
  });
}

const OLLAMA_MODELS = [
  {
    tag: {
      name: 'llama3.2:3b',
      modified_at: '2025-10-03T23:34:03.4091+02:00',
      details: { quantization_level: 'Q4_K_M' },
    },
    show: {
      parameters: 'stop                           "<|eot_id|>"',
      model_info: { 'general.architecture': 'llama', 'llama.context_length': 131_072 },
      capabilities: ['completion', 'tools'],
    },
  },
  {
    tag: { name: 'gemma3:latest', modified_at: '2025-10-02T08:00:00Z', details: { quantization_level: 'Q8_0' } },
    show: {
      parameters: 'num_ctx                        16384\ntemperature                    1',
      model_info: { 'general.architecture': 'gemma3', 'gemma3.context_length': 131_072 },
      capabilities: ['completion', 'vision'],
    },
  },
  {
    tag: { name: 'qwen3:8b', modified_at: '2025-10-01T08:00:00Z', details: { quantization_level: 'Q4_K_M' } },
    show: {
      model_info: { 'general.architecture': 'qwen3', 'qwen3.context_length': 40_960 },
      capabilities: ['completion', 'tools', 'thinking'],
    },
  },
  {
    tag: {
      name: 'nomic-embed-text:latest',
      modified_at: '2025-09-30T08:00:00Z',
      details: { quantization_level: 'F16' },
    },
    show: {
      parameters: 'num_ctx                        8192',
      model_info: { 'general.architecture': 'nomic-bert', 'nomic-bert.context_length': 2_048 },
      capabilities: ['embedding'],
    },
  },
];

/** Ollama with four models, one of them in memory. */
export function ollamaAnswers(version = '0.14.1'): Answers {
  const listed = OLLAMA_MODELS.map(({ tag }) => ({
    id: tag.name,
    object: 'model',
    created: 1_759_527_243,
    owned_by: 'library',
  }));
  const loaded = { name: 'qwen3:8b', model: 'qwen3:8b', size_vram: 5_333_539_264, context_length: 4_096 };
  return routes({
    'GET /v1/models': { body: { object: 'list', data: listed } },
    'GET /api/version': { body: { version } },
    'GET /api/tags': {
      body: { models: OLLAMA_MODELS.map(({ tag }) => ({ ...tag, model: tag.name, size: 2_019_393_189 })) },
    },
    'GET /api/ps': { body: { models: [loaded] } },
    'POST /api/show': ({ body }) => {
      const found = OLLAMA_MODELS.find(({ tag }) => tag.name === body['model']);
      return found
        ? { body: found.show }
        : { status: 404, body: { error: `model '${String(body['model'])}' not found` } };
    },
    'POST /v1/chat/completions': chatRoute('Ollama says hello.'),
  });
}

/** The server of llama.cpp with one model that sees. */
export function llamaCppAnswers(): Answers {
  const meta = {
    n_vocab: 128_256,
    n_ctx: 8_192,
    n_ctx_train: 131_072,
    n_params: 8_030_261_312,
    ftype: 'Q4_K - Medium',
  };
  const id = '../models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf';
  const card = { id, aliases: [], tags: [], object: 'model', created: 1_735_142_223, owned_by: 'llamacpp', meta };
  return routes({
    'GET /v1/models': {
      body: { models: [{ name: id, model: id, capabilities: ['completion'] }], object: 'list', data: [card] },
    },
    'GET /props': {
      body: {
        default_generation_settings: { id: 0, n_ctx: 8_192, params: { n_predict: -1 } },
        total_slots: 2,
        model_path: id,
        modalities: { vision: true, audio: false },
        build_info: 'b7000-1a2b3c4',
      },
    },
    'POST /v1/embeddings': {
      status: 501,
      body: { error: { code: 501, message: 'This server does not support embeddings.', type: 'not_supported_error' } },
    },
    'POST /v1/chat/completions': chatRoute('llama.cpp says hello.'),
  });
}
