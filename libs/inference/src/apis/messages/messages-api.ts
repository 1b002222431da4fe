import { objectOf } from '@libs/json';
import { MessagesDto } from '@libs/contracts';
import { anthropicMessagesTranslation } from '../../dialects/anthropic-messages';
import { maxTokensOf } from '../../dialects/anthropic-messages/request-writer';
import { usesOfMessage } from '../../model/allowed-uses';
import { compactionsOfMessage } from '../../model/compaction';
import { readExpectedOutput, uncappedTokens, type OutputMembers } from '../../model/expected-output';
import type { ConversationApi } from '../api-definition';
import { listOf, systemTurn } from '../content-input';
import { messagesDocument } from '../file-part';
import { messageAnswer } from './message-answer';
import { messageFailure, messageStream } from './message-events';

const OUTPUT: OutputMembers = { caps: ['max_tokens'], thinking: ['thinking'] };

/** `POST /messages`. */
export const messagesApi: ConversationApi = {
  name: 'messages',
  body: MessagesDto,
  generates: true,
  hasDefaultModel: false,
  hasFallbacks: true,
  outputOf: (body) => readExpectedOutput(body, OUTPUT),
  toolUsesOf: (body) => [...usesOfMessage(body), ...compactionsOfMessage(body)],
  // The API requires a cap, so the gateway adds one, and models do write that much.
  uncappedTokensAt: (endpoint) =>
    endpoint.apis.includes('messages') ? maxTokensOf(endpoint) : uncappedTokens(endpoint),
  contextTokensOf: (_body, promptTokens) => promptTokens,
  endUserOf: ({ metadata, user }) => objectOf(metadata)['user_id'] ?? user,
  contentInputOf: ({ system, messages }) => ({ messages: [...systemTurn(system), ...listOf(messages)] }),
  caller: anthropicMessagesTranslation.caller,
  turns: {
    member: 'messages',
    textType: 'text',
    fileOf: (part) => (part['type'] === 'document' ? messagesDocument(part) : null),
  },
  answer: messageAnswer,
  stream: messageStream,
  untranslatable: [],
  tools: {
    callerTypes: new Set([undefined, 'custom']),
    takesPlainNames: false,
    leavesPlainNames: false,
    countsUses: () => true,
    showsItems: false,
    failsWhole: true,
  },
  cutsLongPrompts: false,
  failureEvents: messageFailure,
};
