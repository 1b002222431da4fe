import 'reflect-metadata';
import { validateSync } from 'class-validator';
import { MessagesDto } from './messages.dto';

const prompt = [{ role: 'user', content: 'Say hello' }];

function problems(members: object): string[] {
  const dto = Object.assign(new MessagesDto(), { model: 'acme/large', messages: prompt, ...members });
  return validateSync(dto).flatMap(({ constraints }) => Object.values(constraints ?? {}));
}

const withContent = (...content: unknown[]) => ({ messages: [{ role: 'user', content }] });

describe(MessagesDto.name, () => {
  it.each([
    ['a plain prompt', {}],
    ['no bound on the answer', { max_tokens: null }],
    ['members that we do not know', { safeguards: { level: 1 } }],
    ['a system text', { system: 'Be brief' }],
    [
      'system blocks',
      { system: [{ type: 'text', text: 'Be brief', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
    ],
    ['an instruction between turns', { messages: [...prompt, { role: 'system', content: 'Be brief' }] }],
    ['blocks that we do not know', withContent({ type: 'container_upload', file_id: 'f' })],
    ['a picture', withContent({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } })],
    ['a document', withContent({ type: 'document', source: { type: 'url', url: 'https://a.test/x.pdf' } })],
    ['a result without content', withContent({ type: 'tool_result', tool_use_id: 'c' })],
    [
      'thoughts',
      withContent({ type: 'thinking', thinking: '', signature: 's' }, { type: 'redacted_thinking', data: 'd' }),
    ],
    ['a tool of its own', { tools: [{ name: 'get_time', input_schema: { type: 'object' } }] }],
    ['a tool of the provider', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['a choice of tools', { tool_choice: { type: 'tool', name: 'get_time', disable_parallel_tool_use: true } }],
    ['words of thinking that are newer than we', { thinking: { type: 'deep', display: 'updates' } }],
    ['an effort that is newer than we', { output_config: { effort: 'ultra', format: { type: 'xml' } } }],
    ['a choice that is newer than we', { tool_choice: { type: 'best' } }],
    ['a budget to think', { thinking: { type: 'enabled', budget_tokens: 1024, display: 'omitted' } }],
    ['an effort', { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }],
    ['a format', { output_config: { format: { type: 'json_schema', schema: {} } } }],
    ['a budget for the task', { output_config: { task_budget: { type: 'tokens', total: 20_000, remaining: 0 } } }],
    ['context management', { context_management: { edits: [{ type: 'compact_20260112' }] } }],
    ['a cache mark', { cache_control: { type: 'ephemeral' } }],
    ['fallbacks', { fallbacks: [{ model: 'a' }, { model: 'b' }, { model: 'c' }] }],
    ['fallbacks beside no models', { fallbacks: [{ model: 'a' }], models: null }],
    ['models', { models: ['a', 'b'] }],
    ['a route', { route: 'sort' }],
    ['a trace', { trace: { trace_id: 'a', ours: 1 } }],
  ])('takes %s', (_what, members) => {
    expect(problems(members)).toEqual([]);
  });

  it.each([
    [{ model: undefined }, 'model must'],
    [{ model: '' }, 'model must'],
    [{ model: null }, 'model must'],
    [{ model: 1 }, 'model must'],
    [{ messages: null }, 'messages must be a non-empty array'],
    [{ messages: [] }, 'messages must be a non-empty array'],
    [{ messages: ['x'] }, 'messages[0] must be an object'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role must be one of user, assistant, system'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content must be a string or an array of blocks'],
    [withContent('x'), 'messages[0].content[0].type must be a non-empty string'],
    [withContent({ type: 'text' }), 'messages[0].content[0].text must be a string'],
    [withContent({ type: 'image' }), 'messages[0].content[0].source.type must be a non-empty string'],
    [
      withContent({ type: 'image', source: { type: 'base64', data: 'AA==' } }),
      'messages[0].content[0].source.media_type must be a non-empty string',
    ],
    [withContent({ type: 'tool_use', id: 'c' }), 'messages[0].content[0].name must be a non-empty string'],
    [withContent({ type: 'tool_result' }), 'messages[0].content[0].tool_use_id must be a non-empty string'],
    [
      withContent({ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'text' }] }),
      'messages[0].content[0].content[0].text must be a string',
    ],
    [withContent({ type: 'thinking', thinking: 'x' }), 'messages[0].content[0].signature must be a string'],
    [
      withContent({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '2h' } }),
      'messages[0].content[0].cache_control.ttl must be 5m or 1h',
    ],
    [{ system: 1 }, 'system must be a string or an array of text blocks'],
    [{ system: [{ type: 'image' }] }, 'system[0].type must be text'],
    [{ max_tokens: 0 }, 'max_tokens must not be less than 1'],
    [{ max_tokens: 1.5 }, 'max_tokens must be an integer number'],
    [{ max_tokens: '5' }, 'max_tokens must'],
    [{ temperature: 2.1 }, 'temperature must not be greater than 2'],
    [{ top_p: -0.1 }, 'top_p must not be less than 0'],
    [{ top_k: 0.5 }, 'top_k must be an integer number'],
    [{ stream: 'yes' }, 'stream must be a boolean value'],
    [{ stop_sequences: 'x' }, 'stop_sequences must be an array'],
    [{ stop_sequences: [1] }, 'each value in stop_sequences must be a string'],
    [{ tools: [{ name: 'a b', input_schema: {} }] }, 'tools[0].name must be 1 to 128'],
    [{ tools: [{ name: 'a' }] }, 'tools[0].input_schema must be an object'],
    [{ tools: [{ type: '' }] }, 'tools[0].type must be a non-empty string'],
    [{ tool_choice: 'auto' }, 'tool_choice must be an object'],
    [{ tool_choice: { type: 'tool' } }, 'tool_choice.name must be a non-empty string'],
    [{ thinking: { type: 'enabled', budget_tokens: 1023 } }, 'thinking.budget_tokens must be an integer of at least'],
    [{ thinking: { type: 1 } }, 'thinking.type must be text of 1 to 64 characters'],
    [{ thinking: { type: 'adaptive', display: '' } }, 'thinking.display must be text of 1 to 64 characters'],
    [{ output_config: { effort: 5 } }, 'output_config.effort must be text of 1 to 64 characters'],
    [{ output_config: { format: { type: 'json_schema' } } }, 'output_config.format.schema must be an object'],
    [{ output_config: { task_budget: { type: 'tokens', total: 1 } } }, 'output_config.task_budget.total must be'],
    [{ context_management: { edits: [{}] } }, 'context_management.edits[0].type must be a non-empty string'],
    [{ fallbacks: [{ model: 'a' }, {}, {}, {}] }, 'fallbacks must be an array of at most 3 models'],
    [{ fallbacks: [{ model: '' }] }, 'fallbacks[0].model must be text of 1 to 256 characters'],
    [{ fallbacks: [{ model: 'a', provider: {} }] }, 'fallbacks[0] must hold model only'],
    [{ fallbacks: [{ model: 'a' }], models: ['b'] }, 'fallbacks must not be given together with models'],
    [{ metadata: { user_id: 1 } }, 'metadata.user_id must be a string of at most 512 characters'],
    [{ speed: 'slow' }, 'speed must be one of'],
    [{ route: 'x' }, 'route must be one of'],
    [{ trace: { trace_id: 1 } }, 'trace.trace_id must be text'],
    [{ trace: 'x' }, 'trace must be an object'],
    [{ session_id: 'x'.repeat(257) }, 'session_id must be shorter than or equal to 256 characters'],
    [{ user: 1 }, 'user must'],
    [{ prompt_cache_key: 5 }, 'prompt_cache_key must be a string'],
    [{ safety_identifier: 5 }, 'safety_identifier must be a string'],
    [{ provider: { order: [] } }, 'provider.order must be an array'],
    [{ plugins: ['web'] }, 'each value in plugins must be an object'],
  ])('refuses %j', (members, problem) => {
    expect(problems(members)).toContainEqual(expect.stringContaining(problem));
  });

  it('names members and never their values', () => {
    const secret = 'sk-acme-0123456789abcdefghij';
    expect(problems({ ...withContent({ type: 'text', text: { secret } }), speed: secret }).join()).not.toContain(
      secret,
    );
  });
});
