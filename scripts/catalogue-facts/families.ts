/** What the models of a family have in common: tokenizer, and the request parameters they take. */
export interface Family {
  readonly tokenizer: string;
  readonly parameters: readonly string[];
}

const TOOLS = ['tools', 'tool_choice', 'parallel_tool_calls'];
const FORMATS = ['response_format', 'structured_outputs'];
const SAMPLING = ['max_tokens', 'temperature', 'top_p', 'stop'];
const PENALTIES = ['frequency_penalty', 'presence_penalty', 'seed'];
const REASONING = ['reasoning', 'include_reasoning', 'reasoning_effort'];
const OPEN = [...SAMPLING, 'top_k', 'min_p', ...PENALTIES, 'repetition_penalty', 'logit_bias', ...TOOLS, ...FORMATS];
const SONAR = [...SAMPLING, 'top_k', 'frequency_penalty', 'presence_penalty', 'response_format', 'web_search_options'];
const NOVA = [...SAMPLING, 'top_k', 'tools', 'tool_choice'];

export const FAMILIES: Readonly<Record<string, Family>> = {
  gpt: {
    tokenizer: 'GPT',
    parameters: [
      ...SAMPLING,
      'max_completion_tokens',
      ...PENALTIES,
      'logit_bias',
      'logprobs',
      'top_logprobs',
      ...TOOLS,
      ...FORMATS,
    ],
  },
  'gpt-reasoning': {
    tokenizer: 'GPT',
    parameters: ['max_tokens', 'max_completion_tokens', 'seed', ...TOOLS, ...FORMATS, ...REASONING, 'verbosity'],
  },
  claude: {
    tokenizer: 'Claude',
    parameters: [...SAMPLING, 'top_k', ...TOOLS, ...FORMATS, 'reasoning', 'include_reasoning'],
  },
  // They refuse every sampler.
  'claude-unsampled': {
    tokenizer: 'Claude',
    parameters: ['max_tokens', 'stop', ...TOOLS, ...FORMATS, 'reasoning', 'include_reasoning'],
  },
  gemini: {
    tokenizer: 'Gemini',
    // No penalties: these models refuse a request that has one.
    parameters: [...SAMPLING, 'top_k', 'seed', 'tools', 'tool_choice', ...FORMATS, ...REASONING],
  },
  grok: {
    tokenizer: 'Grok',
    parameters: [...SAMPLING, 'seed', 'logprobs', 'top_logprobs', ...TOOLS, ...FORMATS, ...REASONING],
  },
  mistral: { tokenizer: 'Mistral', parameters: [...SAMPLING, ...PENALTIES, ...TOOLS, ...FORMATS] },
  'mistral-reasoning': {
    tokenizer: 'Mistral',
    parameters: [...SAMPLING, ...PENALTIES, ...TOOLS, ...FORMATS, ...REASONING],
  },
  cohere: {
    tokenizer: 'Cohere',
    parameters: [...SAMPLING, 'top_k', ...PENALTIES, 'logprobs', 'tools', 'tool_choice', ...FORMATS],
  },
  'cohere-2024': {
    tokenizer: 'Cohere',
    parameters: [...SAMPLING, 'top_k', ...PENALTIES, 'logprobs', 'tools', ...FORMATS],
  },
  sonar: { tokenizer: 'Other', parameters: SONAR },
  'sonar-reasoning': { tokenizer: 'Other', parameters: [...SONAR, ...REASONING] },
  nova: { tokenizer: 'Nova', parameters: NOVA },
  'nova-reasoning': { tokenizer: 'Nova', parameters: [...NOVA, 'reasoning', 'include_reasoning'] },
  open: { tokenizer: 'Other', parameters: OPEN },
  'open-reasoning': { tokenizer: 'Other', parameters: [...OPEN, ...REASONING] },
  plain: { tokenizer: 'Other', parameters: SAMPLING },
};

/** Tokenizers of open models, by the vendor in the slug. */
export const OPEN_TOKENIZERS: Readonly<Record<string, string>> = {
  openai: 'GPT',
  'meta-llama': 'Llama3',
  deepseek: 'DeepSeek',
  qwen: 'Qwen3',
  google: 'Gemma',
};
