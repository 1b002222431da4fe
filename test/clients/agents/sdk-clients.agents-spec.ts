import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stateFolder } from '../../../scripts/checkout';
import { CONVERSING, startClientInstallation, type ClientInstallation } from '../client-installation';
import { FORECAST, GREETING } from '../spoken-turn';

/** Each is run as its users run it: a program of its own, with what `programs` has in it. */
const run = promisify(execFile);
const PROGRAM_TIMEOUT_MS = 60_000;

/** SDKs by the API in which each of their ways asks. */
const CLIENTS = [
  ['ai-sdk', 'openrouter'],
  ['ai-sdk', 'openai'],
  ['ai-sdk', 'openai-chat'],
  ['ai-sdk', 'anthropic'],
  ['ai-sdk', 'compatible'],
  ['langchain', 'openai-chat'],
  ['langchain', 'openai'],
  ['langchain', 'anthropic'],
  ['openai-agents', 'openai-chat'],
  ['openai-agents', 'openai'],
  ['llamaindex', 'openai-chat'],
  ['llamaindex', 'openai'],
  ['llamaindex', 'anthropic'],
] as const;
/** A Claude model, and one of a provider for each of OpenAI's APIs. */
const MODELS = CONVERSING;
const CASES = CLIENTS.flatMap(([program, way]) => MODELS.map((model) => [program, way, model] as const));

interface Seen {
  readonly pieces: readonly string[];
  readonly error: string | null;
}

let site: ClientInstallation;

beforeAll(async () => {
  site = await startClientInstallation();
}, 240_000);

afterAll(() => site?.stop(), 60_000);

async function ask(program: string, way: string, model: string, task: string): Promise<Seen> {
  const { baseUrl, seed } = site.installation;
  const key = task === 'wrong-key' ? `${seed.apiKey.slice(0, -6)}abcdef` : seed.apiKey;
  const file = join(stateFolder, 'clients/programs', `${program}.mjs`);
  const environment = { PATH: process.env.PATH ?? '', HOME: site.installation.folder };
  const { stdout } = await run(process.execPath, [file, baseUrl, key, model, task, way], {
    timeout: PROGRAM_TIMEOUT_MS,
    env: environment,
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Seen;
}

describe.each(CASES)('%s by its way %s with %s', (program, way, model) => {
  it('streams an answer', async () => {
    const { pieces, error } = await ask(program, way, model, 'stream');
    expect(error).toBeNull();
    expect(pieces.join('')).toBe(GREETING);
    expect(pieces.length).toBeGreaterThan(1);
  });

  it('calls a tool and answers with its result', async () => {
    const { pieces, error } = await ask(program, way, model, 'tool');
    expect(error).toBeNull();
    expect(pieces.join('')).toContain(FORECAST);
  });

  it('takes a stream that breaks off for an error', async () => {
    const { pieces, error } = await ask(program, way, model, 'cut');
    expect(error).not.toBeNull();
    expect(pieces.join('')).toMatch(/^(one (two )?)?$/);
  });

  it('says that a key is not valid', async () => {
    const { pieces, error } = await ask(program, way, model, 'wrong-key');
    expect(pieces).toEqual([]);
    expect(error).toMatch(/No auth credentials found: the key or token is not valid/);
  });
});
