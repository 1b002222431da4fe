import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stateFolder } from '../../../scripts/checkout';
import { CONVERSING, startClientInstallation, type ClientInstallation } from '../client-installation';
import { GREETING, PRODUCT, PROMPTS } from '../spoken-turn';
import { startClosedProxy, type ClosedProxy } from './closed-proxy';
import { runProgram } from './run-program';

/** Where `npm run clients` installs them. */
const modules = join(stateFolder, 'clients/node_modules');
const AGENT_TIMEOUT_MS = 110_000;
/** Claude Code would ask eleven times in two and a half minutes. */
const IMPATIENT = { CLAUDE_CODE_MAX_RETRIES: '1' };

interface Shown {
  readonly code: number | null;
  readonly output: string;
}

/** A program, its arguments and its environment for one question. */
interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

interface Question {
  readonly baseUrl: string;
  readonly key: string;
  readonly model: string;
  readonly prompt: string;
}

/** Each with nothing but its address, a key and a model; the rest is its default. */
const AGENTS: Readonly<Record<string, (question: Question) => Command>> = {
  codex: ({ baseUrl, key, model, prompt }) => ({
    file: join(modules, '.bin/codex'),
    args: [
      'exec',
      '--skip-git-repo-check',
      '-c',
      'model_provider="sluice"',
      '-c',
      `model_providers.sluice={name="Sluice",base_url="${baseUrl}",env_key="SLUICE_API_KEY"}`,
      '-m',
      model,
      prompt,
    ],
    environment: { SLUICE_API_KEY: key },
  }),
  'claude-code': ({ baseUrl, key, model, prompt }) => ({
    file: join(modules, '@anthropic-ai/claude-code-linux-x64/claude'),
    args: ['-p', prompt, '--allowedTools', 'Bash'],
    environment: {
      ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ''),
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: model,
    },
  }),
  opencode: ({ baseUrl, key, model, prompt }) => ({
    file: join(modules, 'opencode-linux-x64/bin/opencode'),
    args: ['run', '-m', `sluice/${model}`, prompt],
    environment: {
      SLUICE_API_KEY: key,
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        provider: {
          sluice: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: baseUrl, apiKey: '{env:SLUICE_API_KEY}' },
            models: { [model]: {} },
          },
        },
      }),
    },
  }),
};

let site: ClientInstallation;
let proxy: ClosedProxy;
let home: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'sluice-agents-'));
  proxy = await startClosedProxy();
  site = await startClientInstallation();
}, 240_000);

afterAll(async () => {
  await site?.stop();
  await proxy?.close();
  rmSync(home, { recursive: true, force: true });
}, 60_000);

/** Default: a key that is valid, and nothing more in the environment. */
interface Circumstances {
  readonly key?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

async function ask(agent: string, model: string, prompt: string, given: Circumstances = {}): Promise<Shown> {
  const { key = site.installation.seed.apiKey, environment: more = {} } = given;
  const { file, args, environment } = AGENTS[agent]!({ baseUrl: site.installation.baseUrl, key, model, prompt });
  const { code, stdout, stderr } = await runProgram(file, args, {
    folder: home,
    environment: { PATH: process.env.PATH, HOME: home, ...proxy.environment, ...environment, ...more },
    timeoutMs: AGENT_TIMEOUT_MS,
  });
  return { code, output: stdout + stderr };
}

const CASES = Object.keys(AGENTS).flatMap((agent) => CONVERSING.map((model) => [agent, model] as const));

describe.each(CASES)('%s with %s', (agent, model) => {
  it('shows an answer', async () => {
    const { code, output } = await ask(agent, model, PROMPTS.greet);
    expect(output).toContain(GREETING);
    expect(code).toBe(0);
  });

  it('runs a tool and shows what it said', async () => {
    const { code, output } = await ask(agent, model, PROMPTS.shell);
    expect(output).toContain(`The shell says ${PRODUCT}.`);
    expect(code).toBe(0);
  });

  it('takes a stream that breaks off for an error', async () => {
    const { code, output } = await ask(agent, model, PROMPTS.broken, { environment: IMPATIENT });
    expect(code).toBeGreaterThan(0);
    expect(output).toMatch(/error/i);
  });

  it('says that a key is not valid', async () => {
    const key = `${site.installation.seed.apiKey.slice(0, -6)}abcdef`;
    const { code, output } = await ask(agent, model, PROMPTS.greet, { key });
    expect(code).not.toBe(0);
    expect(output).toMatch(/No auth credentials found: the key or token is not valid/);
  });
});
