import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import {
  llamaCppAnswers,
  ModelServer,
  ollamaAnswers,
  vllmAnswers,
} from '../../tools/sluice/src/model-servers/testing/model-server';
import { catalogueOf } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Operator } from '../support/operator';

/** A change of the files must be felt within this. */
const FELT_WITHIN_MS = 10_000;
const LITELLM_KEY = `sk-litellm-${'l'.repeat(20)}`;

let servers: ModelServer[];
let folder: string;
let installation: Installation;
let operator: Operator;
let client: ApiClient;

interface Made {
  readonly catalogue: string;
  readonly notes: readonly string[];
}

beforeAll(async () => {
  servers = await Promise.all([vllmAnswers(), ollamaAnswers(), llamaCppAnswers()].map((it) => ModelServer.start(it)));
  folder = mkdtempSync(join(tmpdir(), 'sluice-makers-'));
  writeFileSync(join(folder, 'first.yaml'), firstFile());
  installation = await Installation.start({
    catalogue: catalogueOf([]),
    apps: ['auth', 'gateway'],
    environment: { CATALOG_PATH: folder, OPENAI_API_KEY: LITELLM_KEY },
  });
  operator = new Operator(installation);
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await Promise.all((servers ?? []).map((server) => server.close()));
  rmSync(folder, { recursive: true, force: true });
});

/** A catalogue must have a model, so that the gateway starts. */
function firstFile(): string {
  const provider = { slug: 'first', name: 'First', base_url: 'http://127.0.0.1:9/v1', protocol: 'openai' };
  const pricing = { prompt: '0', completion: '0' };
  const endpoints = [{ provider: 'first', upstream_model: 'none', apis: ['chat'], pricing }];
  return stringify({ providers: [provider], models: [{ slug: 'first/none', name: 'None', endpoints }] });
}

/** Puts what a command printed into the catalogue, as it was printed, and asks its model. */
async function use(file: string, { catalogue }: Made, model: string): Promise<string> {
  const path = join(folder, file);
  writeFileSync(path, catalogue);
  expect(await operator.runHere('catalog', 'check', path)).toMatchObject({ ok: true });
  expect(await operator.runHere('catalog', 'check', folder)).toMatchObject({ ok: true });
  const answer = await eventually(`${model} answers`, FELT_WITHIN_MS, async () => {
    const { status, text } = await client.chat({ model, messages: [{ role: 'user', content: 'Hello!' }] });
    return status === 200 ? text : undefined;
  });
  return (JSON.parse(answer) as { choices: { message: { content: string } }[] }).choices[0]!.message.content;
}

describe('a catalogue that the command line made', () => {
  it.each([
    ['vLLM', 0, 'vllm/qwen3-8b'],
    ['Ollama', 1, 'ollama/llama3.2-3b'],
    ['llama.cpp', 2, 'llama-cpp/meta-llama-3.1-8b-instruct-q4_k_m'],
  ] as const)('of a running %s is taken as it was printed, and its models answer', async (name, index, model) => {
    const asked = ['catalog', 'discover', servers[index]!.url];
    // The program itself once: it takes seconds to start.
    const made = await (index === 0 ? operator.run<Made>(...asked) : operator.runHere<Made>(...asked));
    expect(await use(`${model.split('/')[0]}.yaml`, made, model)).toBe(`${name} says hello.`);
  });

  it('of a configuration of LiteLLM serves a model under its old name, with the key of the variable', async () => {
    const config = join(folder, 'litellm-config.txt');
    const params = {
      model: 'openai/house-model',
      api_base: `${servers[0]!.url}/v1`,
      api_key: 'os.environ/OPENAI_API_KEY',
    };
    writeFileSync(config, stringify({ model_list: [{ model_name: 'gpt-house', litellm_params: params }] }));
    const made = await operator.run<Made>('catalog', 'import', config);
    const before = servers[0]!.seen.length;
    expect(await use('litellm.yaml', made, 'gpt-house')).toBe('vLLM says hello.');
    expect(servers[0]!.seen.slice(before)).toMatchObject([
      { path: '/v1/chat/completions', authorization: `Bearer ${LITELLM_KEY}`, body: { model: 'house-model' } },
    ]);
  });
});
