import 'reflect-metadata';
import { validateSync } from 'class-validator';
import { ChatCompletionDto } from './chat-completions.dto';

const CHAT = { model: 'a', messages: [{ role: 'user', content: 'x' }] };

const TOOL = { type: 'function', function: { name: 'f', parameters: {} } };

const CUSTOM = { type: 'custom', custom: { name: 'c' } };

const allowing = (...tools: readonly object[]): object => ({
  tools: [TOOL, CUSTOM],
  tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools } },
});

const marked = (marks: object): object => ({ role: 'user', content: [{ type: 'text', text: 'x', ...marks }] });

/** What is wrong with the members, one line each. */
function problemsOf(members: object): readonly string[] {
  const dto = Object.assign(new ChatCompletionDto(), structuredClone({ ...CHAT, ...members }));
  return validateSync(dto).flatMap(({ constraints = {} }) => Object.values(constraints));
}

describe('a chat completion', () => {
  it.each<object>([
    { reasoning: { effort: 'high', exclude: true, enabled: null, max_tokens: 5, summary: 'auto' } },
    { reasoning_effort: 'default', verbosity: 'low', include_reasoning: false },
    { modalities: ['text', 'image', 'audio'], image_config: { aspect_ratio: '1:1' } },
    { min_p: 0.1, top_a: 0.2, repetition_penalty: 1.1, logit_bias: { 50256: -100 } },
    { prediction: { type: 'content', content: 'x' } },
    { prediction: { type: 'content', content: [{ type: 'text', text: 'x' }] } },
    { prompt_cache_key: 'k', prompt_cache_options: { mode: 'explicit' }, cache_control: { type: 'ephemeral' } },
    {
      messages: [
        marked({ cache_control: { type: 'ephemeral', ttl: '1h' }, prompt_cache_breakpoint: { mode: 'explicit' } }),
      ],
    },
    { messages: [marked({ cache_control: null, prompt_cache_breakpoint: null })] },
    { tools: [{ ...TOOL, cache_control: { type: 'ephemeral' } }] },
    { stream_options: { include_usage: false } },
    { route: 'sort', trace: { trace_id: 'x', mine: 1 }, stream: true, debug: { echo_upstream_body: true } },
    { tool_choice: 'required', max_tool_calls: 30 },
    { tool_choice: { type: 'function', function: { name: 'f' } } },
    { tool_choice: { type: 'sluice:web_search' } },
    allowing(TOOL, CUSTOM, { type: 'sluice:web_search' }),
    { reasoning: null, modalities: null, prediction: null, tool_choice: null, route: null, min_p: null, debug: null },
    { some_future_member: 1 },
  ])('may say %j', (members) => {
    expect(problemsOf(members)).toEqual([]);
  });

  it.each<[object, string]>([
    [{ reasoning: 'high' }, 'reasoning must be an object'],
    [{ reasoning: { effort: 'x'.repeat(65) } }, 'reasoning.effort must be text of 1 to 64 characters'],
    [{ reasoning: { exclude: 1 } }, 'reasoning.exclude must be a boolean'],
    [{ reasoning_effort: 1 }, 'reasoning_effort must be a string'],
    [{ include_reasoning: 'no' }, 'include_reasoning must be a boolean'],
    [{ verbosity: [] }, 'verbosity must be a string'],
    [{ modalities: [] }, 'modalities must be an array of 1 to 3'],
    [{ modalities: ['smell'] }, 'modalities[0] must be one of'],
    [{ min_p: '0.1' }, 'min_p must be a number'],
    [{ logit_bias: { a: 'b' } }, 'logit_bias must be an object of numbers'],
    [{ prediction: { type: 'x' } }, 'prediction.type must be content'],
    [{ prediction: { type: 'content', content: [{}] } }, 'prediction.content[0].text must be a string'],
    [{ prompt_cache_key: 5 }, 'prompt_cache_key must be a string'],
    [{ safety_identifier: 5 }, 'safety_identifier must be a string'],
    [{ prompt_cache_options: {} }, 'prompt_cache_options.mode must be one of explicit'],
    [{ cache_control: { type: 'forever' } }, 'cache_control.type must be ephemeral'],
    [
      { messages: [marked({ cache_control: { type: 'ephemeral', ttl: '9h' } })] },
      'messages[0].content[0].cache_control.ttl must be 5m or 1h',
    ],
    [
      { messages: [marked({ prompt_cache_breakpoint: true })] },
      'messages[0].content[0].prompt_cache_breakpoint.mode must be explicit',
    ],
    [{ tools: [{ ...TOOL, cache_control: 'ephemeral' }] }, 'tools[0].cache_control.type must be ephemeral'],
    [{ tools: [{ type: 'function', function: { name: 'a b' } }] }, 'tools[0].function.name must be 1 to 64'],
    [{ stream_options: { include_usage: 'yes' } }, 'stream_options.include_usage must be a boolean'],
    [{ stream_options: true }, 'stream_options must be an object'],
    [{ route: 'x' }, 'route must be one of'],
    [{ trace: 'x' }, 'trace must be an object'],
    [{ debug: { echo_upstream_body: true } }, 'debug.echo_upstream_body must be false without stream'],
    [{ debug: { echo_upstream_body: 'yes' } }, 'debug.echo_upstream_body must be a boolean'],
    [{ tool_choice: 1 }, 'tool_choice must be a string or an object'],
    [{ tool_choice: { type: 'function' } }, 'tool_choice.function.name must be a non-empty string'],
    [
      {
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'g' } }] },
        },
      },
      'tool_choice.allowed_tools.tools[0].function.name must name one of the tools',
    ],
    [{ tool_choice: { type: 'custom' } }, 'tool_choice.custom.name must be a non-empty string'],
    [
      allowing(TOOL, { type: 'custom', custom: { name: 'f' } }),
      'tool_choice.allowed_tools.tools[1].custom.name must name one of the tools',
    ],
    [
      allowing({ type: 'function', function: { name: 'c' } }),
      'tool_choice.allowed_tools.tools[0].function.name must name one of the tools',
    ],
    [
      allowing({ type: 'function', name: 'f' }),
      'tool_choice.allowed_tools.tools[0].function.name must name one of the tools',
    ],
    [{ max_tool_calls: 31 }, 'max_tool_calls must not be greater than 30'],
    [{ max_tool_calls: 0 }, 'max_tool_calls must not be less than 1'],
    [{ image_config: [] }, 'image_config must be an object'],
  ])('may not say %j', (members, problem) => {
    expect(problemsOf(members)).toContainEqual(expect.stringContaining(problem));
  });
});
