/** What the tools of the providers cost, by API. */
const TOOLS: Readonly<Record<string, string>> = {
  responses: '{ web_search: "0.01", file_search: "0.0025" }',
  messages: '{ web_search: "0.01" }',
};

/** The catalogue of the specs: a model for each API, at providers that are all the upstream on this port of loopback. */
export function catalogueText(port: number): string {
  const endpoint = (provider: string, api: string, prices: string, able: string): string => `
      - { provider: ${provider}, upstream_model: ${api}-model, apis: [${api}], pricing: ${prices}, context_length: 1000,
          max_completion_tokens: 500, quantization: unknown, region: global, zdr: false, capabilities: ${able},
          tool_pricing: ${TOOLS[api] ?? '{}'} }`;
  const model = (
    slug: string,
    api: string,
    prices: string,
    providers = ['test'],
    able = '{}',
    supported = '',
  ): string => `
  - slug: ${slug}
    name: ${slug}
    description: A model.
    created: 1
    context_length: 1000
    architecture: { input_modalities: [text], output_modalities: [text], tokenizer: Other, instruct_type: null }
    supported_parameters: [${supported}]
    endpoints:${providers.map((provider) => endpoint(provider, api, prices, able)).join('')}`;
  const provider = (slug: string, name: string, protocol: string, path = '/v1'): string => `
  - { slug: ${slug}, name: ${name}, base_url: "http://127.0.0.1:${port}${path}", protocol: ${protocol}, api_key_env: TEST_KEY,
      headers: {}, regions: [global], data_policy: { retains_prompts: false, trains_on_prompts: false, zdr: false },
      batch: managed, max_concurrency: 64 }`;
  const answered = '{ prompt: "0.000001", completion: "0.000002" }';
  const long = '[{ min_prompt_tokens: 10, prompt: "0.000002", completion: "0.000003" }]';
  const longer = '[{ min_prompt_tokens: 11, prompt: "9", completion: "9" }]';
  const pricesWith = (overrides: string): string => answered.replace(' }', `, overrides: ${overrides} }`);
  const files = model('test/files', 'chat', answered)
    .replaceAll('context_length: 1000', 'context_length: 100000')
    .replace('input_modalities: [text]', 'input_modalities: [text, file]');
  const pictures = model('test/pictures', 'chat', answered)
    .replaceAll('context_length: 1000', 'context_length: 100000')
    .replace('input_modalities: [text]', 'input_modalities: [text, image]');
  return `
providers:${provider('test', 'Test', 'openai')}${provider('other', 'Other', 'anthropic')}${provider('second', 'Second', 'openai', '/second/v1')}
models:${[
    model('test/chat', 'chat', answered),
    files,
    pictures,
    model('test/zdr', 'chat', answered).replace('zdr: false', 'zdr: true'),
    model('test/pair', 'chat', answered, ['test', 'second']),
    model('test/long', 'chat', pricesWith(long)),
    model('test/longer', 'chat', pricesWith(longer)),
    model('test/embed', 'embeddings', '{ prompt: "0.000001" }'),
    model('test/responses', 'responses', answered),
    model('test/thinking', 'responses', answered, ['test'], '{}', 'reasoning, tools'),
    model('test/messages', 'messages', answered, ['other']),
    model('test/speech', 'transcription', '{ audio_second: "0.0001" }'),
    model('test/either', 'transcription', '{ audio_second: "0.0001" }', ['test', 'second']),
    model(
      'test/verbose',
      'transcription',
      '{ audio_second: "0.0001" }',
      ['test'],
      '{ transcription: { verbose_json: true } }',
    ),
    model('test/spoken-tokens', 'transcription', '{ prompt: "0.000002", completion: "0.00001", audio: "0.000006" }'),
  ].join('')}
`;
}
