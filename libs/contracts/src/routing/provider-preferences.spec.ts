import { findProviderPreferencesProblem } from './provider-preferences';

describe(findProviderPreferencesProblem.name, () => {
  it.each([
    [{}],
    [{ order: null, max_price: null, sort: null, options: null, later_member: 1 }],
    [{ order: ['a'], only: ['Google Vertex'], ignore: ['deepinfra/turbo'] }],
    [{ allow_fallbacks: false, require_parameters: true, zdr: true, enforce_distillable_text: false }],
    [{ data_collection: 'deny', quantizations: ['fp4', 'unknown'] }],
    [{ sort: 'exacto' }],
    [{ sort: {} }],
    [{ sort: { by: null, partition: 'none' } }],
    [{ max_price: {} }],
    [{ max_price: { prompt: '0', completion: 1.5, image: '0.01', audio: null, request: 0 } }],
    [{ preferred_min_throughput: 0 }],
    [{ preferred_max_latency: { p50: 1, p75: 0.5, p90: null, p99: 9 } }],
    [{ options: { deepgram: { model: 'x' } } }],
    [{ options: { runway: { reference: [{ uri: 'https://pictures.example/a.png' }] }, fal: { note: 'a: b' } } }],
    [{ options: { 'google-vertex': { storageUri: 'gs://bucket/out' } } }],
  ])('accepts %j', (preferences) => {
    expect(findProviderPreferencesProblem(preferences)).toBeNull();
  });

  it.each([
    [null, ''],
    [[], ''],
    ['openai', ''],
    [{ order: [] }, '.order'],
    [{ order: 'openai' }, '.order'],
    [{ only: [1] }, '.only'],
    [{ only: [''] }, '.only'],
    [{ ignore: ['x'.repeat(257)] }, '.ignore'],
    [{ ignore: Array.from({ length: 201 }, () => 'a') }, '.ignore'],
    [{ allow_fallbacks: 'yes' }, '.allow_fallbacks'],
    [{ require_parameters: 1 }, '.require_parameters'],
    [{ data_collection: 'maybe' }, '.data_collection'],
    [{ zdr: 'true' }, '.zdr'],
    [{ enforce_distillable_text: 0 }, '.enforce_distillable_text'],
    [{ quantizations: [] }, '.quantizations'],
    [{ quantizations: ['fp9'] }, '.quantizations'],
    [{ quantizations: 'fp8' }, '.quantizations'],
    [{ sort: 'cheap' }, '.sort'],
    [{ sort: ['price'] }, '.sort'],
    [{ sort: 1 }, '.sort'],
    [{ sort: { by: 'cheap' } }, '.sort.by'],
    [{ sort: { partition: 'all' } }, '.sort.partition'],
    [{ max_price: '1' }, '.max_price'],
    [{ max_price: { prompt: '-1' } }, '.max_price.prompt'],
    [{ max_price: { prompt: '1e3' } }, '.max_price.prompt'],
    [{ max_price: { completion: -0.1 } }, '.max_price.completion'],
    [{ max_price: { image: Number.POSITIVE_INFINITY } }, '.max_price.image'],
    [{ max_price: { audio: `0.${'1'.repeat(19)}` } }, '.max_price.audio'],
    [{ max_price: { request: true } }, '.max_price.request'],
    [{ preferred_min_throughput: -1 }, '.preferred_min_throughput'],
    [{ preferred_min_throughput: '40' }, '.preferred_min_throughput'],
    [{ preferred_max_latency: { p50: 'fast' } }, '.preferred_max_latency.p50'],
    [{ preferred_max_latency: [] }, '.preferred_max_latency'],
    [{ options: [] }, '.options'],
    [{ options: { a: 1 } }, '.options'],
    [{ options: { a: null } }, '.options'],
    [{ options: { a: { callback: 'http://169.254.169.254/latest' } } }, '.options.a.callback'],
    [{ options: { a: { list: ['ok', { uri: 'http://[::1]/' }] } } }, '.options.a.list[1].uri'],
    [{ options: { a: { uri: 'file:///etc/passwd' } } }, '.options.a.uri'],
    [{ options: { a: { uri: 'https://user@pictures.example/' } } }, '.options.a.uri'],
  ])('refuses %j and names %s', (preferences, path) => {
    const problem = findProviderPreferencesProblem(preferences);
    expect(problem?.startsWith(path)).toBe(true);
    expect(problem).toContain(' must ');
  });

  it('never repeats a value', () => {
    expect(findProviderPreferencesProblem({ sort: 'hush-hush' })).not.toContain('hush-hush');
  });
});
