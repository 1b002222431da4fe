import { objectOf } from '@libs/json';
import { ChatCompletionDto } from '@libs/contracts';
import { openAiChatTranslation } from '../../dialects/openai-chat';
import { usesOfChat } from '../../model/allowed-uses';
import { predictedTokensOf, readExpectedOutput, uncappedTokens, type OutputMembers } from '../../model/expected-output';
import type { ProviderTool } from '../../pricing/tool-uses';
import type { ConversationApi } from '../api-definition';
import { listOf } from '../content-input';
import { openAiFile } from '../file-part';
import { chatAnswer, filesIn, withoutFiles } from './chat-answer';
import { chatFailure, chatStream } from './chat-events';

const OUTPUT: OutputMembers = {
  caps: ['max_completion_tokens', 'max_tokens'],
  thinking: ['reasoning', 'reasoning_effort'],
};

/**
 * Tools whose uses chat providers report: in `server_tool_use` or `server_side_tool_usage_details` of the usage, in
 * `executed_tools` of a message, or by citing pages.
 */
const COUNTED: ReadonlySet<ProviderTool> = new Set([
  'web_search',
  'web_fetch',
  'x_search',
  'browser_search',
  'visit_website',
  'code_interpreter',
  'file_search',
  'document_search',
  'image_generation',
  'mcp',
]);

/** `POST /chat/completions`. */
export const chatApi: ConversationApi = {
  name: 'chat',
  body: ChatCompletionDto,
  generates: true,
  hasDefaultModel: true,
  hasFallbacks: false,
  outputOf: (body) => ({
    ...readExpectedOutput(body, OUTPUT),
    answers: (body['n'] as number | null | undefined) ?? 1,
    predictedTokens: predictedTokensOf(body['prediction']),
  }),
  toolUsesOf: usesOfChat,
  uncappedTokensAt: uncappedTokens,
  contextTokensOf: (_body, promptTokens) => promptTokens,
  endUserOf: ({ safety_identifier: identifier, user }) => identifier ?? user,
  contentInputOf: ({ messages }) => ({ messages: listOf(messages) }),
  caller: openAiChatTranslation.caller,
  turns: {
    member: 'messages',
    textType: 'text',
    fileOf: ({ type, file }) => (type === 'file' ? openAiFile(objectOf(file)) : null),
    answeredFiles: { in: filesIn, takenFrom: withoutFiles },
  },
  answer: chatAnswer,
  stream: chatStream,
  untranslatable: [],
  tools: {
    callerTypes: new Set([undefined, 'function', 'custom']),
    takesPlainNames: true,
    leavesPlainNames: false,
    countsUses: (tool) => COUNTED.has(tool),
    showsItems: false,
    failsWhole: false,
  },
  cutsLongPrompts: false,
  failureEvents: chatFailure,
};
