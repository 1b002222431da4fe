import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCatalogue, type Catalogue } from '@libs/inference';
import { rateText } from './catalogue-facts/price-data';
import { generateCatalogue } from './generate-catalog';

const folder = join(__dirname, '..', 'catalog');
const shipped = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .toSorted()
  .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
let catalogue: Catalogue;

beforeAll(() => {
  catalogue = parseCatalogue(shipped);
});

describe(generateCatalogue.name, () => {
  it('gives the files that the repository ships, byte for byte', () => {
    const generated = [...generateCatalogue()].map(([name, text]) => ({ name, text }));
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
    expect(generated.toSorted(byName)).toEqual(shipped.filter(({ name }) => name !== 'sandbox.yaml'));
  });

  it('makes a catalogue that is valid together with the sandbox', () => {
    expect(catalogue.providers().length).toBeGreaterThanOrEqual(30);
    expect(catalogue.models().length).toBeGreaterThanOrEqual(100);
    expect(catalogue.findModel('sandbox/chat')?.endpoints).toHaveLength(1);
  });

  it('gives every provider a model', () => {
    const used = new Set(catalogue.models().flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider.slug)));
    expect(catalogue.providers().filter(({ slug }) => !used.has(slug))).toEqual([]);
  });

  it('has models for every API', () => {
    const apis = catalogue.models().flatMap(({ endpoints }) => endpoints.flatMap((endpoint) => endpoint.apis));
    expect([...new Set(apis)].toSorted()).toEqual([
      'chat',
      'embeddings',
      'messages',
      'responses',
      'transcription',
      'video',
    ]);
  });

  it('lists no sampler for models that refuse it', () => {
    const listed = (slug: string) => catalogue.findModel(slug)?.supportedParameters;
    for (const version of ['opus-4.7', 'opus-4.8', 'opus-5', 'opus-5.5', 'sonnet-5', 'fable-5.1']) {
      for (const sampler of ['temperature', 'top_p', 'top_k']) {
        expect(listed(`anthropic/claude-${version}`)).not.toContain(sampler);
      }
    }
    expect(listed('anthropic/claude-sonnet-4.6')).toContain('temperature');
    expect(listed('google/gemini-2.5-flash')).toContain('seed');
    expect(listed('google/gemini-2.5-flash')).not.toContain('presence_penalty');
  });

  it('takes the prices that are in force on the day', () => {
    const on = (day: string) => parseCatalogue([...generateCatalogue(day)].map(([name, text]) => ({ name, text })));
    const price = (day: string) => on(day).findModel('openai/gpt-5.6-sol')?.endpoints[0]?.listedPricing['completion'];
    expect(price('2026-11-21')).toBe('0.00002');
    expect(price('2026-08-20')).not.toBe('0.00002');
  });
});

describe(rateText.name, () => {
  it.each([
    [0.15, 1_000_000n, '0.00000015'],
    [0.1, 1_000_000n, '0.0000001'],
    [0.00875, 1_000_000n, '0.00000000875'],
    [10, 1_000_000n, '0.00001'],
    [1e-7, 1_000_000n, '0.0000000000001'],
    [12, 1_000n, '0.012'],
    [0.36, 3_600n, '0.0001'],
    ['0.0043', 60n, '0.000071666666666667'],
    [0, 1_000_000n, '0'],
  ])('turns %p for %p into %p each', (price, per, expected) => {
    expect(rateText(price, per)).toBe(expected);
  });

  it('refuses what is no price', () => {
    for (const wrong of [-1, Number.NaN, Number.POSITIVE_INFINITY, '', '1,5']) {
      expect(() => rateText(wrong, 1n)).toThrow();
    }
  });
});
