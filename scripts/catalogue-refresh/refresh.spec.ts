import { parse } from 'yaml';
import type { PricedModel } from './price-data';
import { refreshCatalogue, type PriceData, type Seed } from './refresh';

const TEXT = `# Ours.
models:
  - slug: acme/one # the first
    endpoints:
      - provider: acme
        upstream_model: one-1
        pricing: {prompt: "0.000001", completion: "0.000002"} # negotiated?
        context_length: 1000
        apis: [chat]
`;
const KEY = 'acme/one acme one-1 chat';
const SEEN = { 'pricing.prompt': '0.000001', 'pricing.completion': '0.000002', context_length: 1_000 };
const seed: Seed = {
  asOf: '2026-11-21',
  endpoints: { [KEY]: { source: 'acme', id: 'one-1', seen: SEEN } },
  known: { acme: ['one-0'] },
};
const DAY = '2026-11-28';

function dataOf(priced: PricedModel | null, ids: readonly string[] = ['one-0', 'one-1']): PriceData {
  return {
    find: () => {
      if (priced === null) throw new Error('there is no such model');
      return priced;
    },
    idsOf: () => ids,
  };
}

function refreshed(text: string, data: PriceData, from = seed) {
  return refreshCatalogue(new Map([['acme.yaml', text]]), from, data, DAY);
}

const dearer = dataOf({ pricing: { prompt: '0.000003', completion: '0.000002' }, contextLength: 2_000 });

describe(refreshCatalogue.name, () => {
  it('changes nothing while the data is the same', () => {
    const same = dataOf({ pricing: { prompt: '0.000001', completion: '0.000002' }, contextLength: 1_000 });
    const { report, files } = refreshed(TEXT, same);
    expect(report).toEqual([]);
    expect(files.size).toBe(0);
  });

  it('writes changed values, and keeps comments, order and everything else', () => {
    const { report, files, seed: next } = refreshed(TEXT, dearer);
    expect(report).toEqual([`${KEY}: pricing.prompt "0.000001" -> "0.000003"`, `${KEY}: context_length 1000 -> 2000`]);
    const expected = TEXT.replace('"0.000001"', '"0.000003"').replace('context_length: 1000', 'context_length: 2000');
    expect(files.get('acme.yaml')).toBe(expected);
    expect(next.endpoints[KEY]!.seen).toEqual({ ...SEEN, 'pricing.prompt': '0.000003', context_length: 2_000 });
    expect(refreshed(expected, dearer, next).report).toEqual([]);
  });

  it('never overwrites a value that the operator edited, and says so each time', () => {
    const edited = TEXT.replace('"0.000001"', '"0.0000009"');
    const { report, files, seed: next } = refreshed(edited, dearer);
    expect(report[0]).toBe(`${KEY}: pricing.prompt stays "0.0000009", which was edited; the price data has "0.000003"`);
    expect(files.get('acme.yaml')).toContain('prompt: "0.0000009"');
    expect(refreshed(files.get('acme.yaml')!, dearer, next).report).toEqual([report[0]]);
  });

  const priced = (prompt: string) => dataOf({ pricing: { prompt, completion: '0.000002' }, contextLength: 1_000 });

  it('keeps an edited value after the list price has passed it', () => {
    const edited = TEXT.replace('"0.000001"', '"0.000003"');
    const passed = refreshed(edited, priced('0.000003'));
    expect(passed.files.size).toBe(0);
    const again = refreshed(edited, priced('0.000003'), passed.seed);
    const { files, report } = refreshed(edited, priced('0.000004'), again.seed);
    expect(report).toEqual([
      `${KEY}: pricing.prompt stays "0.000003", which was edited; the price data has "0.000004"`,
    ]);
    expect(files.size).toBe(0);
  });

  it('follows the list price again once the operator has taken it over', () => {
    const edited = TEXT.replace('"0.000001"', '"0.0000009"');
    const { seed: kept } = refreshed(edited, priced('0.000003'));
    const taken = TEXT.replace('"0.000001"', '"0.000003"');
    const { seed: followed, report } = refreshed(taken, priced('0.000003'), kept);
    expect(report).toEqual([]);
    expect(followed.endpoints[KEY]).not.toHaveProperty('edits');
    expect(refreshed(taken, priced('0.000004'), followed).files.get('acme.yaml')).toContain('prompt: "0.000004"');
  });

  describe('with batch_pricing', () => {
    const withBatch = (rates: string) =>
      TEXT.replace('context_length', `batch_pricing: {${rates}}\n        context_length`);

    it.each([
      ['half of the list price', '0.0000005', '0.0000015'],
      ['the list price', '0.000001', '0.000003'],
    ])('lets %s follow it', (_what, batch, follows) => {
      const text = withBatch(`prompt: "${batch}", completion: "0.000001"`);
      const { files, report } = refreshed(text, priced('0.000003'));
      expect(files.get('acme.yaml')).toContain(`batch_pricing: {prompt: "${follows}", completion: "0.000001"}`);
      expect(report).toContain(`${KEY}: batch_pricing.prompt "${batch}" -> "${follows}"`);
    });

    it('keeps a price of its own and says so', () => {
      const text = withBatch('prompt: "0.0000007"');
      const { files, report } = refreshed(text, priced('0.000003'));
      expect(files.get('acme.yaml')).toContain('batch_pricing: {prompt: "0.0000007"}');
      expect(report).toContain(`${KEY}: batch_pricing.prompt stays "0.0000007", a price of its own; check it`);
    });

    it('does not change where the list price is edited', () => {
      const text = withBatch('prompt: "0.00000045"').replace('"0.000001"', '"0.0000009"');
      expect(refreshed(text, priced('0.000003')).files.size).toBe(0);
    });
  });

  it('leaves a rate away that the operator removed', () => {
    const removed = TEXT.replace('prompt: "0.000001", ', '');
    expect(refreshed(removed, dearer).files.get('acme.yaml')).not.toContain('prompt:');
  });

  it('adds and removes rates and overrides', () => {
    const overrides = [{ min_prompt_tokens: 201, prompt: '0.000009' }];
    const longer = dataOf({ pricing: { prompt: '0.000001', request: '0.01', overrides }, contextLength: 1_000 });
    const text = refreshed(TEXT, longer).files.get('acme.yaml')!;
    const { models } = parse(text) as { models: [{ endpoints: [{ pricing: unknown }] }] };
    expect(models[0].endpoints[0].pricing).toEqual({ prompt: '0.000001', request: '0.01', overrides });
    expect(text).toContain('request: "0.01"');
  });

  it('reports models and endpoints that are gone, and new models of a listed family once', () => {
    const { report, seed: next } = refreshed(TEXT, dataOf(null, ['one-1', 'one-2', 'other-1']));
    expect(report).toEqual([`${KEY}: one-1 of acme is no longer in the price data`, 'new at acme: one-2']);
    expect(refreshed(TEXT, dataOf(null, ['one-1', 'one-2']), next).report).toHaveLength(1);
    expect(refreshed('models: []\n', dearer).report).toEqual([`${KEY}: no longer in the catalogue`]);
  });

  describe('beside other endpoints of the same model and provider', () => {
    /** The operator's own, at twice the price. */
    const OWN = `      - provider: acme
        upstream_model: one-1
        pricing: {prompt: "0.000002", completion: "0.000004"}
        context_length: 1000
        apis: [chat] # mine
`;
    const apart = (trait: string): string => OWN.replace('apis', `${trait}\n        apis`);
    const before = (own: string): string => TEXT.replace('    endpoints:\n', `    endpoints:\n${own}`);
    const after = (own: string): string => TEXT + own;
    const written = TEXT.replace('"0.000001"', '"0.000003"').replace('context_length: 1000', 'context_length: 2000');
    const edited = (text: string): string => text.replace('"0.000001"', '"0.0000009"');

    it.each([
      'capabilities: {service_tier: priority}',
      'capabilities: {variant: extended}',
      'quantization: fp8',
      'region: eu',
      'apis: [responses]',
    ])('changes the seeded one alone, wherever one with %s stands', (trait) => {
      const own = trait.startsWith('apis') ? OWN.replace('apis: [chat]', trait) : apart(trait);
      expect(refreshed(before(own), dearer).files.get('acme.yaml')).toBe(
        written.replace('    endpoints:\n', `    endpoints:\n${own}`),
      );
      expect(refreshed(after(own), dearer).files.get('acme.yaml')).toBe(written + own);
    });

    it.each([
      ['before', before],
      ['after', after],
    ])('keeps an edit of the seeded one where a tier stands %s it', (_where, beside) => {
      const own = apart('capabilities: {service_tier: priority}');
      const { files, report } = refreshed(edited(beside(own)), dearer);
      expect(report).toEqual([
        `${KEY}: pricing.prompt stays "0.0000009", which was edited; the price data has "0.000003"`,
        `${KEY}: context_length 1000 -> 2000`,
      ]);
      expect(files.get('acme.yaml')).toContain(own);
    });

    it('takes an edited tier for no edit of the seeded one', () => {
      const own = apart('capabilities: {service_tier: priority}').replace('"0.000002"', '"0.0000025"');
      const { files, report } = refreshed(after(own), dearer);
      expect(report).toEqual([
        `${KEY}: pricing.prompt "0.000001" -> "0.000003"`,
        `${KEY}: context_length 1000 -> 2000`,
      ]);
      expect(files.get('acme.yaml')).toBe(written + own);
    });

    it('changes neither of two with the same key, and says so', () => {
      const { files, report, seed: next } = refreshed(after(OWN), dearer);
      expect(report).toEqual([`${KEY}: 2 endpoints match this entry; none is changed`]);
      expect(files.size).toBe(0);
      expect(next.endpoints).toEqual(seed.endpoints);
    });

    it('names the others where the seeded one is gone, and leaves them alone', () => {
      const tier = TEXT.replace('apis:', 'capabilities: {service_tier: priority}\n        apis:');
      const { files, report } = refreshed(tier, dearer);
      expect(report).toEqual([
        `${KEY}: no longer in the catalogue; not the same and left alone: ${KEY} service_tier=priority`,
      ]);
      expect(files.size).toBe(0);
    });

    it('refreshes a seeded tier apart from the standard endpoint', () => {
      const tier = apart('capabilities: {service_tier: priority}');
      const seen = { 'pricing.prompt': '0.000002', 'pricing.completion': '0.000004' };
      const endpoints = { [`${KEY} service_tier=priority`]: { source: 'acme', id: 'one-1-priority', seen } };
      const data = dataOf({ pricing: { prompt: '0.000007', completion: '0.000004' }, contextLength: undefined });
      expect(refreshed(before(tier), data, { ...seed, endpoints }).files.get('acme.yaml')).toBe(
        before(tier.replace('"0.000002"', '"0.000007"')),
      );
    });
  });
});
