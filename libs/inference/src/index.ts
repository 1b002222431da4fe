export * from './engine/engine';
export { NativeBatchCaller, type NativeLane, type NativeRequest } from './engine/native-batch-caller';
export { prefersNativeBatch } from './engine/native-batch-choice';
export type { CallerParts } from './engine/endpoint-caller';
export type {
  LostOrder,
  NativeBatchAccess,
  NativeBatches,
  NativeJob,
  NativeLine,
  NativeOrder,
} from './providers/native-batch';
export { messageErrorBody, readTokenCount, toTokenCount, type MessageErrorBody } from './dialects/anthropic-messages';
export type { Answer, AnswerContext } from './dialects/dialect';
export type { PriceListName } from './pricing/price';
export { JsonCursor, MAX_JSON_DEPTH, MalformedJson } from './json/json-cursor';
export * from './json/json-members';
export type { AnswerStream, StreamOutcome, TerminalState } from './model/answer-stream';
export { callerSideOf, type CallableApi, type StreamableApi, type UpstreamApi } from './dialects/dialect-pairs';
export { upstreamApiFor } from './providers/upstream-api';
export { totalOf, type Bill, type CallerTranslation, type StreamWriter, type ToolBill } from './dialects/translation';
export { failureEvents, type UnansweredCall } from './dialects/unanswered-call';
export { AnswerFold } from './model/answer-fold';
export { turnBody, type Turn } from './model/conversation-turn';
export {
  endOfAnswer,
  wordsOfAnswer,
  wordsOfStream,
  type AnswerEnd,
  type AnswerWords,
  type SaidCall,
} from './dialects/answer-words';
export type { Attempt } from './routing/attempt';
export { callStatus } from './model/call-status';
export { callAbandoned, callCancelled, Cancellation, toAbortSignal, type CancelSignal } from './model/cancellation';
export { maxTokensOf } from './dialects/anthropic-messages/request-members';
export { mayDropCap } from './model/dropped-cap';
export {
  expectedOutputOf,
  heldOutputTokens,
  uncappedTokens,
  thinkingWishOf,
  type ExpectedOutput,
  type ThinkingWish,
} from './model/expected-output';
export { leftCallOf, type LeftCall } from './engine/left-call';
export { LEFTOVER_BOUNDS, LeftoverReads, type LeaveTerms, type LeftoverBounds } from './model/leftover-reads';
export { attemptsBefore, failedRouteOf, sameRoute, type FailedRoute } from './routing/failed-route';
export { monotonicMs } from './wire/monotonic-ms';
export { NO_LOSS, type LossReport } from './model/loss-report';
export { atTurnEnd } from './model/turn-end';
export type * from './model/conversation';
export type * from './model/canonical-request';
export type * from './model/canonical-answer';
export {
  estimatePrompt,
  estimatePromptTokens,
  estimateTextTokens,
  mostPromptTokens,
  tokensOfBytes,
  type PromptEstimate,
} from './model/estimate';
export type { CacheWrite, PromptKinds } from './pricing/prompt-kinds';
export { bringsTools, providerToolsIn, toolOfType } from './model/provider-tools';
export type { ProviderTool } from './pricing/tool-uses';
export { cachesUnasked, searchesUnasked } from './routing/unasked-uses';
export { scanJsonShape, type JsonShape } from './model/json-shape';
export { longestInputTokens } from './dialects/openai-embeddings-input';
export type { InferenceRequest, InferenceResult, RoutedRequest, Served, StreamResult } from './engine/inference-call';
export type { TurnRequest, TurnResult } from './engine/turn-request';
export { FINISH_REASONS, type FinishReason } from './model/finish-reason';
export * from './pricing/usage';
export * from './videos/video-capabilities';
export * from './videos/video-size';
export { highestPricesFor, pricesFor } from './pricing/price-overrides';
export { managedLanePrices } from './catalogue/managed-lane';
export {
  DEFAULT_BYOK_FEE,
  byokCost,
  countedCost,
  countedShare,
  feeOf,
  parsePercent,
  sumCosts,
  type Share,
} from './pricing/byok-fee';
export { forbidsRetention, providerAccountOf } from './routing/account-of-request';
export * from './pricing/money';
export * from './pricing/price';
export * from './pricing/price-estimate';
export * from './audio/audio-bytes';
export * from './audio/audio-duration';
export * from './audio/audio-format';
export { ArrivingAudio } from './audio/arriving-audio';
export { audioInHand, type AudioInput, type TimestampGranularity, type Transcription } from './audio/transcription';
export { expectedTranscriptionCost } from './audio/transcription-bill';
export { transcriptionTraitsOf } from './audio/transcription-traits';
export { transcriptionNeeds } from './routing/transcription-needs';
export type { TranscriptionAnswer, TranscriptionRequest } from './engine/speech-caller';
export * from './videos/video-price';
export { createProviderAdapters } from './providers';
export type { ProviderAdapter } from './providers/provider';
export type { UpstreamStream } from './wire/upstream-stream';
export type { UpstreamCall, UpstreamResult, UpstreamTimeouts } from './wire/upstream-call';
export type * from './videos/video-provider';
export { UpstreamHttp, type ConnectOwnPlace } from './wire/upstream-http';
export * from './catalogue/catalogue';
export * from './catalogue/catalogue-error';
export * from './catalogue/catalogue-listing';
export * from './catalogue/catalogue-parser';
export * from './catalogue/catalogue-source';
export { CallerCredentials, type CredentialVault } from './routing/caller-credentials';
export { isHeldBack, keyRefusalOf, upstreamError, upstreamStatusOf } from './wire/upstream-error';
export * from './routing/credential-source';
export { accessWith, type KeyAccess, type KeyedEndpoint } from './routing/own-key-access';
export { isOwnKeyHost, ownKeyHostsOf } from './providers/own-key-hosts';
export { keyedCandidates } from './routing/keyed-candidates';
export * from './routing/provider-health';
export * from './routing/quotas';
export * from './routing/metadata';
export { accountReferenceIn } from './routing/account-references';
export { readRouteFacts } from './routing/route-facts';
export { endpointsNamed, resolveModel } from './routing/route-model';
export type { ResolvedModel, UnresolvedModel } from './routing/route-model';
export { isInRegion, isNamedIn, isSlugOf } from './routing/route-names';
export { isStandardTier, tierNamed, traitsOf, type EndpointTier } from './catalogue/endpoint-traits';
export { AVAILABILITY_CODES } from './routing/route-refusal';
export * from './routing/route-plan';
export { allowedCandidates, isModelAllowed } from './routing/route-policy';
export { isForCaller, ownKeysFor } from './routing/route-credentials';
export { findUnknownName, readRoutePolicies } from './routing/routing-policy-reader';
export { readRoutingPreferences } from './routing/route-preferences';
export { stickyKeyOf } from './routing/sticky-routes';
