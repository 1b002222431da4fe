import { readRouteFacts } from './route-facts';

describe(readRouteFacts.name, () => {
  it('reads modalities that are text, on APIs too that do not check them', () => {
    const modalities = JSON.parse('["text","image",{"toString":1},[{"toString":1}],null,1]') as unknown;
    expect(readRouteFacts({ modalities }).outputModalities).toEqual(['image']);
    expect(readRouteFacts({ modalities: 'image' }).outputModalities).toEqual([]);
  });

  const parameters = (body: object) => [...(readRouteFacts(body).parameters ?? [])].sort();

  it.each([
    [{ model: 'm', messages: [], stream: true, user: 'u' }, []],
    [{ temperature: 0, seed: null, tools: [], logprobs: false }, ['temperature']],
    [{ max_completion_tokens: 5, max_tokens: 5 }, ['max_tokens']],
    [{ max_output_tokens: 5, stop_sequences: ['a'] }, ['max_tokens', 'stop']],
    [{ tools: [{}], tool_choice: 'auto', parallel_tool_calls: true }, ['parallel_tool_calls', 'tool_choice', 'tools']],
    [{ reasoning_effort: 'low' }, ['reasoning']],
    [{ thinking: { type: 'enabled' } }, ['reasoning']],
    [{ response_format: { type: 'json_object' } }, ['response_format']],
    [{ response_format: { type: 'json_schema' } }, ['structured_outputs']],
    [{ response_format: { type: 'text' } }, []],
    [{ text: { format: { type: 'json_schema' }, verbosity: 'low' } }, ['structured_outputs', 'verbosity']],
    [{ output_config: { format: { type: 'json_schema' } } }, ['structured_outputs']],
    [{ __proto__: 1, constructor: 1, toString: 1 }, []],
  ])('finds the parameters of %j', (body, expected) => {
    expect(parameters(body)).toEqual(expected);
  });

  it('finds the kinds of content in every dialect', () => {
    const kinds = (body: object) => readRouteFacts(body).inputModalities;
    const parts = (...types: string[]) => [{ role: 'user', content: types.map((type) => ({ type })) }];
    expect(kinds({ messages: parts('text', 'image_url', 'input_audio', 'video_url', 'file') })).toEqual([
      'image',
      'audio',
      'video',
      'file',
    ]);
    expect(kinds({ input: parts('input_text', 'input_image', 'input_file') })).toEqual(['image', 'file']);
    const result = { type: 'tool_result', content: [{ type: 'image' }, { type: 'document' }] };
    expect(kinds({ messages: [{ role: 'user', content: [result] }] })).toEqual(['image', 'file']);
    expect(kinds({ messages: [null, { content: 'text' }, { content: [null, 1] }], input: 'text' })).toEqual([]);
  });

  it('counts the parts that are no text, those of tool results too', () => {
    const content = ['text', 'image_url', 'image_url', 'input_audio'].map((type) => ({ type }));
    const result = { type: 'tool_result', content: [{ type: 'image' }] };
    const messages = [{ content }, { content: 'text' }, { content: [result] }];
    expect(readRouteFacts({ messages })).toMatchObject({ mediaParts: 4, audioParts: 1 });
    expect(readRouteFacts({ input: 'text' })).toMatchObject({ mediaParts: 0, audioParts: 0 });
  });

  it.each([
    { type: 'image_url', image_url: { url: 'https://acme.example/a.png' } },
    { type: 'input_image', image_url: 'HTTP://acme.example/a.png' },
    { type: 'image', source: { type: 'url', url: 'https://acme.example/a.png' } },
    { type: 'document', source: { type: 'url', url: 'https://acme.example/a.pdf' } },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'https://acme.example/a.pdf' } },
    { type: 'input_file', file_url: 'https://acme.example/a.pdf' },
    { type: 'video_url', video_url: { url: 'https://acme.example/a.mp4' } },
  ])('finds content behind a link: %j', (part) => {
    expect(readRouteFacts({ messages: [{ role: 'user', content: [part] }] }).hasLinkedMedia).toBe(true);
  });

  it.each([
    { type: 'text', text: 'https://acme.example/a.png' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
  ])('finds no link where the content itself is there: %j', (part) => {
    expect(readRouteFacts({ messages: [{ role: 'user', content: [part] }] }).hasLinkedMedia).toBe(false);
  });

  it('finds the kinds of content that are wanted', () => {
    expect(readRouteFacts({ modalities: ['text', 'image'] }).outputModalities).toEqual(['image']);
  });

  it('finds the longest answer and the tier', () => {
    expect(readRouteFacts({ max_tokens: 7, service_tier: 'flex' })).toMatchObject({
      maxOutputTokens: 7,
      serviceTier: 'flex',
    });
    expect(readRouteFacts({ max_tokens: 7, max_completion_tokens: 5 }).maxOutputTokens).toBe(5);
    expect(readRouteFacts({ speed: 'fast' }).serviceTier).toBe('fast');
    expect(readRouteFacts({})).toMatchObject({ maxOutputTokens: null, serviceTier: null });
  });

  it.each([[null], ['text'], [[]], [7]])('finds nothing in %j', (body) => {
    expect(readRouteFacts(body)).toEqual({});
  });
});
