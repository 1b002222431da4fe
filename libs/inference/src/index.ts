// Exports of the library, from the lowest layer to the highest: only what other folders import.
export { audioLength, type AudioLength } from './media/audio-duration';
export {
  AUDIO_FORMATS,
  audioFormatNamed,
  audioFormatOfFile,
  audioFormatOfMediaType,
  looksLike,
  type AudioFormat,
} from './media/audio-format';
export { byokCost, countedCost, countedShare, feeOf, parsePercent, sumCosts, type Share } from './pricing/byok-fee';
export {
  formatRate,
  formatUsd,
  parseRate,
  parseUsd,
  reservedAmount,
  usdNumber,
  type PicoUsd,
  type Rate,
} from './pricing/money';
export { hourWriteRate, priceUsage, toolRate, type BilledUnits, type Cost, type PriceList } from './pricing/price';
export { priceExpected, promptTokensRead, type ExpectedUse } from './pricing/price-estimate';
export { highestPricesFor, pricesFor } from './pricing/price-overrides';
export type { PromptKinds } from './pricing/prompt-kinds';
export { toolCostTexts, totalToolCost, type ToolCosts } from './pricing/tool-costs';
export type { AllowedUses, ProviderTool } from './pricing/tool-uses';
export { emptyUsage, type Usage } from './pricing/usage';
export {
  BATCH_SUFFIX,
  Catalogue,
  parseCatalogue,
  type Api,
  type Endpoint,
  type Model,
  type Provider,
} from './catalogue/catalogue';
export { CatalogueError } from './catalogue/catalogue-error';
export {
  isEmbeddingsModel,
  toBatchModelEntry,
  toModality,
  toModelEntry,
  type ModelEntry,
} from './catalogue/catalogue-listing';
export { CatalogueSource } from './catalogue/catalogue-source';
export { isStandardTier, traitsOf } from './catalogue/endpoint-traits';
export { tierNamed } from './catalogue/service-tiers';
export { managedLanePrices } from './catalogue/managed-lane';
export { AnswerFold } from './model/answer-fold';
export { frameData, joinFrames, withFrameData, type AnswerFrame } from './model/answer-frame';
export type { AnswerStream, StreamOutcome, TerminalState } from './model/answer-stream';
export { callCancelled, Cancellation, toAbortSignal, type CancelSignal } from './model/cancellation';
export type { AnswerEvent, AnswerPart, CanonicalAnswer } from './model/canonical-answer';
export type { CanonicalRequest, ToolChoice, ToolDefinition } from './model/canonical-request';
export type { Message, Part, Role, ToolResultPart } from './model/conversation';
export type { Turn } from './model/conversation-turn';
export { turnBody } from './model/turn-body';
export { mayDropCap } from './model/dropped-cap';
export {
  estimatePrompt,
  estimatePromptTokens,
  estimateTextTokens,
  usualTextTokens,
  likelyPromptTokens,
  mostPromptTokens,
} from './model/estimate';
export type { EndpointNeed } from './model/endpoint-need';
export { heldOutputTokens, uncappedTokens, type ExpectedOutput, type ThinkingWish } from './model/expected-output';
export type { FinishReason } from './model/finish-reason';
export type { PdfPlace } from './model/body-media';
export {
  scanJsonShape,
  TOO_MANY_VALUES,
  UNKNOWN_PROMPT,
  type JsonShape,
  type PromptEstimate,
} from './model/json-shape';
export { pdfTokens } from './model/media-tokens';
export { findMedia } from './model/text-only';
export { promptAt, type CountedPrompt } from './model/prompt-at';
export { LEFTOVER_BOUNDS, LeftoverReads, type LeaveTerms } from './model/leftover-reads';
export { NO_LOSS, type LossReport } from './model/loss-report';
export {
  bringsTools,
  providerToolsIn,
  toolOfType,
  toolSentAs,
  toolsBesideList,
  toolsSentIn,
} from './model/provider-tools';
export { countsUses, needOfTool, sellsTool } from './routing/tool-needs';
export { untranslatedNeeds } from './routing/untranslated-needs';
export { dearerSetting } from './model/tool-settings';
export { atTurnEnd } from './model/turn-end';
export { monotonicMs } from './wire/monotonic-ms';
export type { UpstreamTimeouts } from './wire/upstream-call';
export { isHeldBack, keyRefusalOf, upstreamError, upstreamStatusOf } from './wire/upstream-error';
export { ReplyBudget } from './wire/reply-budget';
export { UpstreamHttp } from './wire/upstream-http';
export type { UpstreamStream } from './wire/upstream-stream';
export { endOfAnswer, wordsOfAnswer, wordsOfStream, type AnswerEnd, type AnswerWords } from './dialects/answer-words';
export { messageErrorBody } from './dialects/anthropic-messages';
export type { Answer, AnswerContext } from './dialects/dialect';
export type { CallableApi, StreamableApi, UpstreamApi } from './dialects/dialect-pairs';
export { totalOf, type Bill, type StreamWriter, type ToolBill } from './dialects/translation';
export { ArrivingAudio } from './audio/arriving-audio';
export { AudioBytes, AudioCollector } from './audio/audio-bytes';
export { audioInHand, type AudioInput } from './audio/transcription';
export type * from './videos/video-provider';
export { APIS, CALLER_APIS, definitionOf, forEachConversationApi, isCallable, isConversationApi } from './apis/apis';
export { citedSpan, spanOf, type AnswerSource, type ReadFile } from './apis/answer-source';
export { API_OF_BATCH, isBatchEndpoint, type BatchEndpoint } from './apis/batch-endpoints';
export { callStatus } from './apis/call-status';
export type { AnswerView, TextPlace } from './apis/answer-view';
export type { ApiDefinition, CallBody } from './apis/api-definition';
export type { FormFieldKinds } from './apis/caller-api';
export type { ContentInput } from './apis/content-input';
export type { FilePart } from './apis/file-part';
export type { StreamCiter, StreamEvents } from './apis/stream-events';
export { transcriptionApi } from './apis/transcription/transcription-api';
export { transcriptionNeeds } from './apis/transcription/transcription-needs';
export { transcriptionOf } from './apis/transcription/transcription-request';
export type { UnansweredCall } from './apis/unanswered-call';
export { namedAsSent, videoFromOpenAi, type SentNames } from './apis/videos/openai-video-members';
export { readVideoCapabilities, type VideoCapabilities } from './apis/videos/video-capabilities';
export { videoModelsOf } from './apis/videos/video-models';
export { toVideoEventData, toVideoObject } from './apis/videos/video-object';
export { isPricedByToken, priceVideoTokens, quoteVideo } from './apis/videos/video-price';
export { specifyVideo, type VideoSpecification } from './apis/videos/video-specification';
export { videosApi } from './apis/videos/videos-api';
export { createProviderAdapters, PROTOCOLS } from './providers';
export type { BatchRules, NativeBatchAccess, NativeJob, NativeLine } from './providers/native-batch';
export { isOwnKeyHost, ownKeyHostsOf } from './providers/own-key-hosts';
export type { ProviderAdapter } from './providers/provider';
export { upstreamApiFor } from './providers/upstream-api';
export { demandsNoRetention, forbidsRetention, providerAccountOf } from './routing/account-of-request';
export { accountReferenceIn } from './routing/account-references';
export { attemptOf, type Attempt } from './routing/attempt';
export { CallerCredentials, type CredentialVault } from './routing/caller-credentials';
export {
  CredentialSource,
  SharedCredentials,
  type CredentialScope,
  type OwnCredential,
  type ProviderFilter,
} from './routing/credential-source';
export type { EndpointRecord } from './routing/endpoint-history';
export { expiredRefusal } from './routing/expired-model';
export { isOfOwnKey } from './routing/key-outcomes';
export { attemptsBefore, failedRouteOf, sameRoute } from './routing/failed-route';
export { keyedCandidates } from './routing/keyed-candidates';
export {
  directMetadata,
  routingMetadata,
  translationReport,
  type PipelineStage,
  type RoutingMetadata,
} from './routing/metadata';
export { forbidsKeeping, refuseKeepers, type RetentionFacts } from './routing/outside-keepers';
export { accessWith } from './routing/own-key-access';
export { ProviderHealth } from './routing/provider-health';
export { accountOf, providerOfQuota, QuotaGroups, quotaGroupsOf, type AccountModel } from './routing/quotas';
export { isForCaller, ownKeysFor } from './routing/route-credentials';
export { readRouteFacts } from './routing/route-facts';
export { unknownModelMessage } from './routing/unknown-model';
export { watchSharedKeys } from './routing/watch-shared-keys';
export {
  endpointsNamed,
  recordedName,
  resolveModel,
  UNDATED,
  type ResolvedModel,
  type UnresolvedModel,
} from './routing/route-model';
export { isInRegion, isNamedIn, isSlugOf } from './routing/route-names';
export {
  planRoute,
  type Candidate,
  type RoutePlan,
  type RoutePolicy,
  type RouteRequest,
  type RoutingPreferences,
  type StickyKey,
} from './routing/route-plan';
export { allowedCandidates, isModelAllowed, ruledToolsIn, rulesTools } from './routing/route-policy';
export { readRoutingPreferences } from './routing/route-preferences';
export { AVAILABILITY_CODES } from './routing/route-refusal';
export { findUnknownName, readRoutePolicies } from './routing/routing-policy-reader';
export { utcDay } from './routing/utc-day';
export { stickyKeyOf } from './routing/sticky-routes';
export { cachesUnasked, usesAt } from './routing/unasked-uses';
export type { CallerParts } from './engine/endpoint-caller';
export { InferenceEngine } from './engine/engine';
export type * from './engine/inference-call';
export { leftCallOf, type LeftCall } from './engine/left-call';
export { NativeBatchCaller, type NativeLane } from './engine/native-batch-caller';
export { prefersNativeBatch } from './engine/native-batch-choice';
export type { TranscriptionAnswer, TranscriptionRequest } from './engine/speech-caller';
export type { TurnRequest, TurnResult } from './engine/turn-request';
