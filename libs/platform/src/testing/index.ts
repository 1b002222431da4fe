export { HttpsHost } from '../egress/testing/https-host';
export { selfSignedCertificate, type SelfSignedCertificate } from '../egress/testing/self-signed-certificate';
export { FakeMessageBus } from '../messaging/testing/fake-message-bus';
export { KnownQuestions, testIdentities } from '../messaging/testing/test-identities';
export { captureLog } from './captured-log';
export { aPrincipal } from './principal-fixture';
export { TcpProxy } from './tcp-proxy';
export { eventually, TestBroker } from '../messaging/testing/test-broker';
export { OtlpReceiver, type ReceivedSpan } from './otlp-receiver';
