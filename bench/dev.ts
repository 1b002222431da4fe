import { startInstallation } from './support/installation';
async function main() {
  const i = await startInstallation({ creditUsd: '1000' });
  console.log(JSON.stringify({ url: i.gatewayUrl, key: i.apiKey, metrics: i.gatewayMetricsUrl, upstream: i.upstreamUrl }));
  process.on('SIGTERM', () => void i.stop().then(() => process.exit(0)));
  process.on('SIGINT', () => void i.stop().then(() => process.exit(0)));
}
void main().catch((e) => { console.error(e); process.exit(1); });
