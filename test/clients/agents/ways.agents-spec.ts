import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { stateFolder } from '../../../scripts/checkout';
import { CONVERSING, startClientInstallation, type ClientInstallation } from '../client-installation';
import { FORECAST, GREETING } from '../spoken-turn';
import { startClosedProxy, type ClosedProxy } from './closed-proxy';
import { runProgram } from './run-program';

/** What the guides name, and what stands for it in these tests. Nothing else of a guide is changed. */
const SHOWN = { origin: 'http://127.0.0.1:8080', model: 'anthropic/claude-sonnet-5' };
/** A Claude model, and one of a provider for each of OpenAI's APIs. */
const MODELS = CONVERSING;
const PROGRAM_TIMEOUT_MS = 100_000;
/** Where `npm run clients` installs them. */
const modules = join(stateFolder, 'clients/node_modules');
/** Where the commands of the agents are. Two are links that a script of their packages makes, and none runs here. */
const COMMANDS = ['@anthropic-ai/claude-code-linux-x64', 'opencode-linux-x64/bin', '.bin'].map((folder) =>
  join(modules, folder),
);

let site: ClientInstallation;
let proxy: ClosedProxy;
let home: string;

beforeAll(async () => {
  proxy = await startClosedProxy();
  site = await startClientInstallation();
}, 240_000);

afterAll(async () => {
  await site?.stop();
  await proxy?.close();
}, 60_000);

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sluice-ways-'));
  symlinkSync(modules, join(home, 'node_modules'));
});

afterEach(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));

/** The code of a section of a guide in one language, for the server and a model of these tests. */
function codeOf(guide: string, section: string, language: string, model: string): string {
  const text = readFileSync(join(__dirname, `../../../docs/ways/${guide}.md`), 'utf8');
  const part = text.split(/^## /m).find((one) => one.startsWith(`${section}\n`));
  const code = part?.match(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm'))?.[1];
  if (code === undefined) throw new Error(`${guide} shows no ${language} for ${section}`);
  const origin = new URL(site.installation.baseUrl).origin;
  return code.replaceAll(SHOWN.origin, origin).replaceAll(SHOWN.model, model);
}

/** What a program printed. @throws Error with what it said of its failure */
async function run(file: string, args: readonly string[]): Promise<string> {
  const { baseUrl, seed } = site.installation;
  const { code, stdout, stderr } = await runProgram(file, args, {
    folder: home,
    environment: {
      PATH: [...COMMANDS, dirname(process.execPath), process.env.PATH].join(delimiter),
      HOME: home,
      ...proxy.environment,
      SLUICE_URL: baseUrl,
      SLUICE_API_KEY: seed.apiKey,
    },
    timeoutMs: PROGRAM_TIMEOUT_MS,
  });
  if (code !== 0) throw new Error(`${file} ended with ${code}: ${stdout}\n${stderr}`);
  return stdout;
}

describe.each(MODELS)('the guide to SDKs with %s', (model) => {
  it.each(['AI SDK', 'LangChain', 'OpenAI Agents', 'LlamaIndex'])('shows a program for %s that works', async (sdk) => {
    const file = join(home, 'program.mjs');
    writeFileSync(file, codeOf('sdk', sdk, 'js', model));
    expect(await run(process.execPath, [file])).toContain(`It is ${FORECAST}.`);
  });
});

describe.each(MODELS)('the guide to coding agents with %s', (model) => {
  const shell = (section: string): Promise<string> => run('sh', ['-c', codeOf('coding-agents', section, 'sh', model)]);

  it('shows a configuration of Codex that works', async () => {
    mkdirSync(join(home, '.codex'));
    writeFileSync(join(home, '.codex/config.toml'), codeOf('coding-agents', 'Codex', 'toml', model));
    expect(await shell('Codex')).toContain(GREETING);
  });

  it('shows variables of Claude Code that work', async () => {
    expect(await shell('Claude Code')).toContain(GREETING);
  });

  it('shows a configuration of opencode that works', async () => {
    writeFileSync(join(home, 'opencode.json'), codeOf('coding-agents', 'opencode', 'json', model));
    expect(await shell('opencode')).toContain(GREETING);
  });
});
