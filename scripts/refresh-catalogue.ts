/**
 * `npm run catalog:refresh -- [--write] [FOLDER]`: compares a catalogue with the installed price data and prints the
 * differences. `--write` applies them, except for values that were edited.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findProvider } from '@pydantic/genai-prices';
import { findPrices } from './catalogue-refresh/price-data';
import { refreshCatalogue, type Seed } from './catalogue-refresh/refresh';
import { seedText } from './catalogue-refresh/seed-text';
import { root, runMain } from './checkout';

export const SEED_FILE = '.seed.json';

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options: { write: { type: 'boolean' } }, allowPositionals: true });
  const folder = positionals[0] ?? join(root, 'catalog');
  const names = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
  const texts = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  const seed = JSON.parse(readFileSync(join(folder, SEED_FILE), 'utf8')) as Seed;
  const day = new Date().toISOString().slice(0, 10);
  const data = {
    find: findPrices,
    idsOf: (source: string) =>
      (findProvider({ providerId: source })?.models ?? []).filter((one) => !one.deprecated).map(({ id }) => id),
  };
  const refresh = refreshCatalogue(texts, seed, data, day);
  process.stdout.write(refresh.report.map((line) => `${line}\n`).join('') || 'The catalogue has the current prices.\n');
  if (!values.write) return 0;
  for (const [name, text] of refresh.files) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, SEED_FILE), seedText(refresh.seed));
  return 0;
}

runMain(main);
