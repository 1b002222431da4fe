import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createBrotliDecompress } from 'node:zlib';
import { root, stateFolder } from '../../scripts/checkout';
import { findProgram } from '../../scripts/services/programs';

/** A browser that can be started, and what its environment must say. */
export interface Chromium {
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Comes with the dev dependencies, packed, with all that it needs except the C library; 64-bit Linux only. */
const PACKAGE = join(root, 'node_modules/@sparticuz/chromium');
const PROGRAM_NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

const run = promisify(execFile);

/**
 * The Chromium of `CHROME_PATH`; else the one of the dev dependencies, so that a test sees the same browser
 * everywhere; else an installed one. @throws Error that says what to do where there is none
 */
export async function findChromium(): Promise<Chromium> {
  const { CHROME_PATH: given } = process.env;
  if (given !== undefined && given !== '') return { program: given, environment: {} };
  if (process.platform === 'linux' && process.arch === 'x64' && existsSync(PACKAGE)) return unpackedChromium();
  const program = findProgram(...PROGRAM_NAMES);
  if (program !== undefined) return { program, environment: {} };
  throw new Error('there is no Chromium for this platform: install one, or name it with CHROME_PATH');
}

async function unpackedChromium(): Promise<Chromium> {
  const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as { version: string };
  const folder = join(stateFolder, `chromium-${version}`);
  if (!existsSync(folder)) await unpack(folder);
  return {
    program: join(folder, 'chromium'),
    environment: { LD_LIBRARY_PATH: join(folder, 'lib'), FONTCONFIG_FILE: join(folder, 'fonts.xml') },
  };
}

/** Whole or not at all; of two that unpack at the same time one is kept. */
async function unpack(folder: string): Promise<void> {
  mkdirSync(stateFolder, { recursive: true });
  const draft = mkdtempSync(join(stateFolder, 'chromium-draft-'));
  try {
    const unpacked = (name: string): string => join(draft, name);
    await Promise.all([
      decompress('chromium.br', unpacked('chromium')),
      ...['al2023', 'fonts'].map(async (name) => {
        await decompress(`${name}.tar.br`, unpacked(`${name}.tar`));
        await run('tar', ['-xf', unpacked(`${name}.tar`), '-C', draft]);
      }),
    ]);
    await writeFile(unpacked('fonts.xml'), fontsOf(folder));
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function decompress(name: string, target: string): Promise<void> {
  const source = createReadStream(join(PACKAGE, 'bin', name));
  await pipeline(source, createBrotliDecompress(), createWriteStream(target, { mode: 0o755 }));
}

/** A machine without fonts is one on which Chromium does not start. */
function fontsOf(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, 'fonts')}</dir>
  <cachedir>${join(folder, 'fonts-cache')}</cachedir>
</fontconfig>
`;
}
