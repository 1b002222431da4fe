import { validateSync } from 'class-validator';
import { ResponsesDto } from './responses.dto';

const BODY = { model: 'acme/large', input: 'Say hello' };

/** The members of the body at fault, with what is said of them. */
function faults(values: object): string[] {
  const dto = Object.assign(new ResponsesDto(), { ...BODY, ...values });
  return validateSync(dto).flatMap(({ constraints = {} }) => Object.values(constraints));
}

const accepts = (values: object): void => expect(faults(values)).toEqual([]);
const refuses = (values: object, member: string): void => {
  const found = faults(values);
  expect(found.length).toBeGreaterThan(0);
  expect(found[0]).toMatch(new RegExp(`^(?:each value in )?${member.replace(/[[\].]/g, '\\$&')}`));
};
const item = (value: object) => ({ input: [value] });
const part = (value: object) => item({ role: 'user', content: [value] });
const fn = (values: object = {}) => ({ type: 'function', name: 'look', parameters: { type: 'object' }, ...values });

describe(ResponsesDto.name, () => {
  it('takes a model, models to choose from, or neither: whoever routes it knows what is meant then', () => {
    for (const model of ['', 1, 'x'.repeat(257)]) refuses({ model }, 'model');
    accepts({ model: null, models: ['a/b'] });
    accepts({ model: undefined });
    refuses({ models: ['a/b', ''] }, 'models');
    refuses({ models: Array.from({ length: 33 }, () => 'a/b') }, 'models');
  });

  it('needs an input that says something', () => {
    for (const input of [undefined, null, [], 1, '', {}, [1], ['x']]) refuses({ input }, 'input');
    accepts({ input: [{ role: 'user', content: 'x' }] });
  });

  it('knows every kind of item', () => {
    refuses(item({ role: 'user' }), 'input[0].content');
    refuses(item({ content: 'x' }), 'input[0].role');
    refuses(item({ role: 'robot', content: 'x' }), 'input[0].role');
    refuses(item({ type: 'hologram' }), 'input[0].type');
    refuses(item({ type: 1 }), 'input[0].type');
    refuses(item({ type: 'function_call', call_id: 'c', name: '', arguments: '{}' }), 'input[0].name');
    refuses(item({ type: 'function_call', call_id: 'c', name: 'f' }), 'input[0].arguments');
    refuses(item({ type: 'function_call_output', output: 'x' }), 'input[0].call_id');
    refuses(item({ type: 'function_call_output', call_id: 'c' }), 'input[0].output');
    refuses(item({ type: 'function_call_output', call_id: 'c', output: [{ type: 'x' }] }), 'input[0].output[0].type');
    refuses(item({ type: 'reasoning', summary: [{ type: 'summary_text' }] }), 'input[0].summary[0].text');
    refuses(item({ type: 'reasoning', summary: [], encrypted_content: 1 }), 'input[0].encrypted_content');
    accepts({
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'x' }] },
        { id: 'm', type: 'message', role: 'assistant', status: 'completed', content: null },
        { type: 'reasoning', id: 'rs', summary: null, encrypted_content: 'x', signature: null },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: 'not json' },
        { type: 'function_call_output', call_id: 'c', output: '' },
        { type: 'custom_tool_call', call_id: 'd', name: 'f', input: '' },
        { type: 'custom_tool_call_output', call_id: 'd', output: [{ type: 'input_text', text: 'x' }] },
        { type: 'web_search_call', id: 'ws', status: 'completed' },
        { type: 'sluice:web_search', status: 'completed' },
      ],
    });
  });

  it('refuses everything that would need a stored response', () => {
    for (const id of ['x', '', 0, {}, false]) refuses({ previous_response_id: id }, 'previous_response_id');
    accepts({ previous_response_id: null });
    for (const one of ['conv_1', { id: 'conv_1' }, 0]) refuses({ conversation: one }, 'conversation');
    accepts({ conversation: null });
    refuses({ store: true }, 'store');
    refuses({ store: 'false' }, 'store');
    accepts({ store: false });
    refuses({ background: true }, 'background');
    refuses({ preset: 'mine' }, 'preset');
    accepts({ preset: null });
    accepts({ background: false });
    accepts({ background: null, store: null });
    refuses(item({ type: 'item_reference', id: 'msg_1' }), 'input[0].type');
  });

  it('bounds the steps of server tools', () => {
    for (const max of [0, -1, 31, 1.5, '3']) refuses({ max_tool_calls: max }, 'max_tool_calls');
    for (const max of [1, 30, null]) accepts({ max_tool_calls: max });
  });

  it('knows five conditions under which server tools stop', () => {
    const stop = (...conditions: unknown[]) => ({ stop_server_tools_when: conditions });
    accepts(
      stop(
        { type: 'step_count_is', step_count: 1 },
        { type: 'has_tool_call', tool_name: 'x' },
        { type: 'max_tokens_used', max_tokens: 10 },
        { type: 'max_cost', max_cost_in_dollars: 0.5 },
        { type: 'finish_reason_is', reason: 'length' },
      ),
    );
    refuses(stop(), 'stop_server_tools_when');
    refuses({ stop_server_tools_when: {} }, 'stop_server_tools_when');
    refuses(stop({ type: 'moon_phase' }), 'stop_server_tools_when[0].type');
    refuses(stop(null), 'stop_server_tools_when[0].type');
    for (const count of [0, -1, 1.5, undefined]) {
      refuses(stop({ type: 'step_count_is', step_count: count }), 'stop_server_tools_when[0].step_count');
    }
    for (const cost of [-1, '1', Infinity]) {
      refuses(stop({ type: 'max_cost', max_cost_in_dollars: cost }), 'stop_server_tools_when[0].max_cost_in_dollars');
    }
    refuses(stop({ type: 'has_tool_call', tool_name: '' }), 'stop_server_tools_when[0].tool_name');
    refuses(
      stop(...Array.from({ length: 1000 }, () => ({ type: 'step_count_is', step_count: 1 }))),
      'stop_server_tools_when',
    );
  });

  it('bounds metadata by code points', () => {
    const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
    accepts({ metadata: pairs(16) });
    refuses({ metadata: pairs(17) }, 'metadata');
    accepts({ metadata: { ['😀'.repeat(64)]: '😀'.repeat(512) } });
    refuses({ metadata: { ['k'.repeat(65)]: 'v' } }, 'metadata');
    refuses({ metadata: { k: '😀'.repeat(513) } }, 'metadata');
    for (const key of ['a[', 'a]', '']) refuses({ metadata: { [key]: 'v' } }, 'metadata');
    for (const value of [1, null, {}, []]) refuses({ metadata: { k: value } }, 'metadata');
    refuses({ metadata: ['a'] }, 'metadata');
    accepts({ metadata: null });
  });

  it('takes a key named like the prototype for a key', () => {
    accepts({ metadata: JSON.parse('{"__proto__":"x"}') as object });
    refuses({ metadata: JSON.parse('{"__proto__":{"a":1}}') as object }, 'metadata');
    expect({}).not.toHaveProperty('a');
  });

  it('knows the service tiers', () => {
    for (const tier of ['gold', 1, '']) refuses({ service_tier: tier }, 'service_tier');
    for (const tier of ['auto', 'default', 'fast', 'flex', 'priority', 'scale', 'ultrafast', null]) {
      accepts({ service_tier: tier });
    }
  });

  it('bounds who asks', () => {
    for (const name of ['session_id', 'user', 'safety_identifier']) {
      refuses({ [name]: 'x'.repeat(257) }, name);
      refuses({ [name]: 1 }, name);
      accepts({ [name]: '😀'.repeat(256) });
    }
  });

  it('takes booleans for what they are', () => {
    for (const name of ['stream', 'parallel_tool_calls']) {
      for (const value of ['true', 1]) refuses({ [name]: value }, name);
      accepts({ [name]: true });
    }
  });

  it.each([
    ['temperature', [0, 2, 0.5, null], ['hot', -1, 3, Number.NaN]],
    ['top_p', [0, 1, null], [-0.1, 1.1, 'x']],
    ['top_k', [0, 40, null], [-1, 0.5]],
    ['top_logprobs', [0, 20, null], [-1, 21, 1.5]],
    ['frequency_penalty', [-2, 2, null], [-2.1, 3]],
    ['presence_penalty', [-2, 2, null], ['x', 3]],
    ['max_output_tokens', [1, 100_000, null], [0, -1, 1e12, 1.5]],
  ])('bounds %s', (name, good, bad) => {
    for (const value of good) accepts({ [name]: value });
    for (const value of bad) refuses({ [name]: value }, name);
  });

  it('checks functions', () => {
    accepts({ tools: [fn(), fn({ name: 'b', parameters: null, strict: null }), { type: 'custom', name: 'shell' }] });
    refuses({ tools: {} }, 'tools');
    refuses({ tools: Array.from({ length: 1000 }, () => fn()) }, 'tools');
    for (const name of ['x'.repeat(65), 'a b', '', undefined]) refuses({ tools: [fn({ name })] }, 'tools[0].name');
    for (const parameters of [[], 'x', 1]) refuses({ tools: [fn({ parameters })] }, 'tools[0].parameters');
    refuses({ tools: [fn({ parameters: { type: 'thing' } })] }, 'tools[0].parameters.type');
    refuses({ tools: [fn({ strict: 'yes' })] }, 'tools[0].strict');
    accepts({ tools: [{ type: 'namespace', name: 'crm', description: 'x', tools: [fn()] }] });
    refuses({ tools: [{ type: 'namespace', name: 'crm', tools: [{ type: 'shell' }] }] }, 'tools[0].tools[0].type');
  });

  it('refuses parameters that never end or are very large', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } };
    refuses({ tools: [fn({ parameters: { $ref: '#/$defs/node', $defs: { node } } })] }, 'tools[0].parameters');
    refuses({ tools: [fn({ parameters: { properties: { self: { $ref: '#' } } } })] }, 'tools[0].parameters');
    const shared = { properties: { a: { $ref: '#/$defs/x' }, b: { $ref: '#/$defs/x' } }, $defs: { x: {} } };
    accepts({ tools: [fn({ parameters: shared })] });
    refuses({ tools: [fn({ parameters: { description: 'x'.repeat(1024 * 1024) } })] }, 'tools[0].parameters');
  });

  it('bounds the parameters of all functions together, in each of the lists of tools', () => {
    const parameters = { description: 'x'.repeat(500_000) };
    const tools = (count: number) => Array.from({ length: count }, () => fn({ parameters }));
    const added = (count: number) => ({ type: 'additional_tools', tools: tools(count) });
    accepts({ tools: tools(4), input: [added(2), added(2)] });
    refuses({ tools: tools(5) }, 'tools[4].parameters');
    refuses({ tools: [{ type: 'namespace', name: 'n', tools: tools(3) }, ...tools(2)] }, 'tools[2].parameters');
    refuses({ input: [added(2), added(3)] }, 'input[1].tools[2].parameters');
  });

  it('looks at a tool as often for many choices as for one', () => {
    let looks = 0;
    const get = (tool: object, name: string | symbol): unknown => {
      looks += 1;
      return Reflect.get(tool, name);
    };
    const tools = ['a', 'b', 'c'].map((name) => new Proxy(fn({ name }), { get }));
    const looksFor = (count: number): number => {
      looks = 0;
      const chosen = [
        { type: 'function', name: 'c' },
        { type: 'function', name: 'a' },
      ];
      const choice = { type: 'allowed_tools', mode: 'auto', tools: Array.from({ length: count }, () => chosen).flat() };
      accepts({ tools, tool_choice: choice });
      return looks;
    };
    expect(looksFor(100)).toBe(looksFor(1));
  });

  it('takes tools of every type: providers add new ones', () => {
    for (const type of ['', ':'.repeat(10_000), 1, undefined]) refuses({ tools: [{ type }] }, 'tools[0].type');
    for (const type of ['web_search', 'mcp', 'sluice:datetime', 'tool_search', 'hologram', 'a:b:c']) {
      accepts({ tools: [{ type }] });
    }
    refuses({ tools: [{ type: 'sluice:web_search', parameters: 1 }] }, 'tools[0].parameters');
  });

  it('refuses a choice of a tool that is not there', () => {
    const tools = [fn(), { type: 'sluice:web_search' }, { type: 'shell' }];
    for (const choice of ['auto', 'none', 'required', null]) accepts({ tools, tool_choice: choice });
    for (const type of ['additional_tools', 'tool_search_output']) {
      accepts({ input: [{ type, tools }], tool_choice: 'required' });
      refuses({ input: [{ type, tools: [{ type: 1 }] }] }, 'input[0].tools[0].type');
    }
    accepts({ input: [{ type: 'tool_search_call', call_id: 'c', arguments: {} }] });
    // A provider of this API may know it; a translation names it as lost.
    accepts({ tools, tool_choice: 'any' });
    refuses({ tools, tool_choice: '' }, 'tool_choice');
    refuses({ tool_choice: 'required' }, 'tool_choice');
    accepts({ tools, tool_choice: { type: 'function', name: 'look' } });
    refuses({ tools, tool_choice: { type: 'function', name: 'leap' } }, 'tool_choice.name');
    refuses({ tool_choice: { type: 'function', name: 'look' } }, 'tool_choice.name');
    accepts({ tools, tool_choice: { type: 'web_search_preview' } });
    accepts({ tools, tool_choice: { type: 'shell' } });
    refuses({ tools, tool_choice: { type: 'apply_patch' } }, 'tool_choice.type');
    const allowed = (name: string) => ({ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name }] });
    accepts({ tools, tool_choice: allowed('look') });
    refuses({ tools, tool_choice: allowed('leap') }, 'tool_choice.tools[0].name');
    refuses({ tools, tool_choice: { ...allowed('look'), mode: 'none' } }, 'tool_choice.mode');
  });

  it.each(['{"toString":1}', '[{"toString":1}]', 'null', '1'])(
    'refuses the type %s of a tool, whatever is chosen',
    (text) => {
      const type: unknown = JSON.parse(text);
      for (const choice of [{ type: 'web_search' }, { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'x' }] }]) {
        refuses({ tools: [{ type }], tool_choice: choice }, 'tools[0].type');
      }
    },
  );

  it('refuses a choice of a namespace, or of a tool in one, that is not there', () => {
    const tools = [fn({ name: 'plain' }), { type: 'namespace', name: 'agents', tools: [fn({ name: 'spawn' })] }];
    const choices = (one: object) => [one, { type: 'allowed_tools', mode: 'required', tools: [one] }];
    const paths = (name: string) => [`tool_choice.${name}`, `tool_choice.tools[0].${name}`];
    const all = (one: object, name?: string) =>
      choices(one).forEach((choice, at) => {
        if (name === undefined) accepts({ tools, tool_choice: choice });
        else refuses({ tools, tool_choice: choice }, paths(name)[at]!);
      });
    all({ type: 'namespace', name: 'agents' });
    all({ type: 'function', name: 'spawn' });
    all({ type: 'function', name: 'spawn', namespace: 'agents' });
    all({ type: 'namespace', name: 'agent' }, 'name');
    all({ type: 'namespace' }, 'name');
    all({ type: 'function', name: 'agents' }, 'name');
    all({ type: 'function', name: 'plain', namespace: 'agents' }, 'name');
    all({ type: 'function', name: 'spawn', namespace: 'agent' }, 'name');
  });

  it('checks the format of the text', () => {
    const text = (format: object) => ({ text: { format } });
    accepts(text({ type: 'text' }));
    accepts(text({ type: 'json_object' }));
    const tree = { type: 'object', properties: { child: { $ref: '#' } } };
    accepts(text({ type: 'json_schema', name: 'tree', schema: tree, strict: true }));
    refuses(text({ type: 'json_schema', name: 'tree' }), 'text.format.schema');
    refuses(text({ type: 'json_schema', name: 'tree', schema: { type: 5 } }), 'text.format.schema.type');
    refuses(text({ type: 'json_schema', schema: {} }), 'text.format.name');
    accepts(text({ type: 'grammar', grammar: 'root ::= "yes"' }));
    refuses(text({ type: '' }), 'text.format.type');
    refuses(text({ type: 3 }), 'text.format.type');
    refuses({ text: { format: 'json' } }, 'text.format');
    accepts({ text: { verbosity: 'loud' } });
    refuses({ text: { verbosity: 3 } }, 'text.verbosity');
    refuses({ text: 'x' }, 'text');
  });

  it('knows what may be included', () => {
    accepts({ include: ['reasoning.encrypted_content', 'code_interpreter_call.outputs'] });
    accepts({ include: null });
    refuses({ include: ['everything'] }, 'include[0]');
    refuses({ include: 'reasoning.encrypted_content' }, 'include');
  });

  it('knows the modalities of answers', () => {
    accepts({ modalities: ['text', 'image'] });
    for (const modalities of [[], ['smell'], ['text', 'text', 'text'], 'text']) refuses({ modalities }, 'modalities');
  });

  it('knows how input may be truncated', () => {
    for (const truncation of ['auto', 'disabled', null]) accepts({ truncation });
    for (const truncation of ['on', true]) refuses({ truncation }, 'truncation');
  });

  it('checks how the model shall think', () => {
    accepts({ reasoning: { effort: 'xhigh', summary: 'auto', enabled: true, max_tokens: 100 } });
    accepts({ reasoning: { effort: null, summary: null, enabled: null, max_tokens: null, mode: 'pro' } });
    accepts({ reasoning: { effort: 'ultra', summary: 'long', context: 'last_turn' } });
    refuses({ reasoning: { effort: 5 } }, 'reasoning.effort');
    refuses({ reasoning: { mode: 'expert' } }, 'reasoning.mode');
    refuses({ reasoning: { enabled: 'yes' } }, 'reasoning.enabled');
    refuses({ reasoning: { max_tokens: 0 } }, 'reasoning.max_tokens');
    refuses({ reasoning: 'high' }, 'reasoning');
  });

  it('checks where the request may go', () => {
    refuses({ provider: { only: [] } }, 'provider.only');
    refuses({ provider: { sort: 'beauty' } }, 'provider.sort');
    accepts({ provider: { only: ['acme'], zdr: true } });
    for (const route of ['fallback', 'sort', null]) accepts({ route });
    refuses({ route: 'x' }, 'route');
  });

  it('refuses links that no provider should follow for us', () => {
    const image = (url: unknown) => part({ type: 'input_image', detail: 'auto', image_url: url });
    for (const url of [
      'file:///etc/passwd',
      'javascript:alert(1)',
      'http://169.254.169.254/latest/meta-data',
      'http://127.0.0.1/x',
      'http://2130706433/x',
      'http://0x7f.1/x',
      'http://[::1]/x',
      'http://[::ffff:10.0.0.1]/x',
      'http://[fd00::1]/x',
      'http://10.1.2.3/x',
      'http://metadata.google.internal/x',
      'http://localhost:8080/x',
      'http://printer/x',
      'https://user:pass@example.com/x',
      'no url',
      '',
      1,
    ]) {
      refuses(image(url), 'input[0].content[0].image_url');
    }
    accepts(image('https://example.com/cat.png'));
    accepts(image('http://93.184.216.34/cat.png'));
    accepts(part({ type: 'input_image', detail: 'low', file_id: 'file_1' }));
    refuses(part({ type: 'input_image', detail: 'low' }), 'input[0].content[0].image_url');
    refuses(part({ type: 'input_image', detail: 'blurred', file_id: 'f' }), 'input[0].content[0].detail');
    refuses(part({ type: 'input_file', file_url: 'file:///x' }), 'input[0].content[0].file_url');
    refuses(part({ type: 'input_video', video_url: 'http://10.0.0.1/x' }), 'input[0].content[0].video_url');
  });

  it('refuses data that is no whole base64, or too much of it', () => {
    const image = (url: string) => part({ type: 'input_image', detail: 'auto', image_url: url });
    accepts(image('data:image/png;base64,iVBORw0KGgo='));
    for (const data of ['iVBORw0KGgo', 'iVBO Rw0=', 'iVB=Rw0K', '', '%%%%', 'iVBO-w0_']) {
      refuses(image(`data:image/png;base64,${data}`), 'input[0].content[0].image_url');
    }
    refuses(image('data:image/png,plain'), 'input[0].content[0].image_url');
    refuses(image(`data:image/png;base64,${'A'.repeat(30 * 1024 * 1024)}`), 'input[0].content[0].image_url');
    accepts(part({ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' }));
    accepts(part({ type: 'input_file', file_data: 'JVBERi0=' }));
    refuses(part({ type: 'input_file', file_data: 'JVBERi0' }), 'input[0].content[0].file_data');
    refuses(part({ type: 'input_file' }), 'input[0].content[0].file_data');
    refuses(
      part({ type: 'input_audio', input_audio: { data: 'x', format: 'mp3' } }),
      'input[0].content[0].input_audio.data',
    );
    refuses(
      part({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'midi' } }),
      'input[0].content[0].input_audio.format',
    );
  });

  it('knows every kind of content and its cache marks', () => {
    refuses(part({ type: 'hologram' }), 'input[0].content[0].type');
    refuses(part({ type: 'constructor' }), 'input[0].content[0].type');
    refuses(part({ type: 'input_text' }), 'input[0].content[0].text');
    const marked = (mark: unknown) => part({ type: 'input_text', text: 'x', prompt_cache_breakpoint: mark });
    accepts(marked({ mode: 'explicit' }));
    accepts(marked(null));
    for (const mark of [true, 'explicit', {}, { mode: 'auto' }, []]) {
      refuses(marked(mark), 'input[0].content[0].prompt_cache_breakpoint');
    }
    refuses(
      part({ type: 'input_text', text: 'x', cache_control: { type: 'eternal' } }),
      'input[0].content[0].cache_control',
    );
  });

  it('checks the prompt cache', () => {
    accepts({ cache_control: { type: 'ephemeral', ttl: '1h' }, prompt_cache_key: 'k' });
    refuses({ cache_control: { type: 'ephemeral', ttl: '2h' } }, 'cache_control.ttl');
    accepts({ prompt_cache_options: { mode: 'explicit', ttl: null } });
    refuses({ prompt_cache_options: { mode: 'implicit' } }, 'prompt_cache_options.mode');
    refuses({ prompt_cache_key: 1 }, 'prompt_cache_key');
  });

  it('knows each plugin once', () => {
    accepts({ plugins: [{ id: 'web', max_results: 3 }, { id: 'moderation' }] });
    refuses({ plugins: [{ id: 'teleport' }] }, 'plugins[0].id');
    refuses({ plugins: [{ id: 'web' }, { id: 'web' }] }, 'plugins[1].id');
    refuses({ plugins: Array.from({ length: 13 }, () => ({ id: 'web' })) }, 'plugins[1].id');
    refuses({ plugins: [{ id: 'web', enabled: 1 }] }, 'plugins[0].enabled');
  });

  it('bounds the trace', () => {
    accepts({ trace: { trace_id: 't', custom: { deep: 1 } } });
    refuses({ trace: { span_name: 1 } }, 'trace.span_name');
    refuses({ trace: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i])) }, 'trace');
    refuses({ trace: 'x' }, 'trace');
  });

  it('shows the upstream body only in a stream', () => {
    accepts({ debug: { echo_upstream_body: true }, stream: true });
    accepts({ debug: { echo_upstream_body: false } });
    for (const stream of [undefined, false, null]) {
      refuses({ debug: { echo_upstream_body: true }, stream }, 'debug.echo_upstream_body');
    }
    refuses({ debug: { echo_upstream_body: 1 }, stream: true }, 'debug.echo_upstream_body');
  });

  it('checks templates and deferred tools', () => {
    accepts({ prompt: { id: 'pmpt_1', variables: { city: 'Bonn' } } });
    refuses({ prompt: {} }, 'prompt.id');
    const search = { type: 'bm25', max_results: 5 };
    accepts({ deferred_tools: { protocol: 'v1', profile: 'portable', search, validation: 'runtime' } });
    refuses({ deferred_tools: { protocol: 'v2', search } }, 'deferred_tools.protocol');
    refuses({ deferred_tools: { protocol: 'v1' } }, 'deferred_tools.search');
    refuses({ deferred_tools: { search: { type: 'magic' } } }, 'deferred_tools.search.type');
  });

  it('leaves members alone that it does not know', () => accepts({ some_future_member: { a: 1 } }));

  it('never repeats a value', () => {
    const secret = 'sk-very-secret';
    for (const values of [
      { model: 1, user: [secret], service_tier: secret, tool_choice: secret, include: [secret] },
      { metadata: { [`${secret}[`]: secret }, input: [{ role: secret, content: secret }], plugins: [{ id: secret }] },
    ]) {
      expect(faults(values).join()).not.toContain(secret);
    }
  });
});
