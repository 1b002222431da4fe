export * from './engine';
export { messageErrorBody, readTokenCount, toTokenCount, type MessageErrorBody } from './dialects/anthropic-messages';
export type { Answer, PriceListName } from './dialects/dialect';
export { JsonCursor, MAX_JSON_DEPTH, MalformedJson } from './dialects/json-cursor';
export * from './dialects/json-members';
export type { AnswerStream, StreamOutcome, TerminalState } from './model/answer-stream';
export { upstreamApiFor, type CallableApi, type UpstreamApi } from './dialects/dialect-pairs';
export type { Attempt } from './model/attempt';
export { failedRouteOf, type FailedRoute } from './routing/failed-route';
export { NO_LOSS, type LossReport } from './model/loss-report';
export { estimatePromptTokens, tokensOfBytes } from './model/estimate';
export type { InferenceRequest, InferenceResult, RoutedRequest, Served, StreamResult } from './model/inference-call';
export { FINISH_REASONS, type FinishReason } from './model/finish-reason';
export * from './model/usage';
export { managedLanePrices } from './pricing/managed-lane';
export * from './pricing/money';
export * from './pricing/price';
export { createProviderAdapters } from './providers';
export type {
  ProviderAdapter,
  UpstreamCall,
  UpstreamResult,
  UpstreamStream,
  UpstreamTimeouts,
} from './providers/provider';
export { UpstreamHttp } from './providers/upstream-http';
export * from './routing/catalogue';
export * from './routing/catalogue-error';
export * from './routing/catalogue-listing';
export * from './routing/catalogue-parser';
export * from './routing/catalogue-source';
export * from './routing/credential-source';
export * from './routing/provider-health';
export * from './routing/metadata';
export { readRouteFacts } from './routing/route-facts';
export * from './routing/route-plan';
export { readRoutingPreferences } from './routing/route-preferences';
export { stickyKeyOf } from './routing/sticky-routes';
