import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** A key and a certificate that vouches for itself, as PEM. */
export interface SelfSignedCertificate {
  readonly key: string;
  readonly certificate: string;
}

const ECDSA_WITH_SHA256 = sequence(objectIdentifier('2a8648ce3d040302'));
const COMMON_NAME = '550403';
const SUBJECT_ALTERNATIVE_NAME = '551d11';

/**
 * A certificate for host names and IPv4 addresses that is valid today and tomorrow (RFC 5280), so that tests
 * speak real TLS on loopback without a certificate in the repository that runs out one day.
 */
export function selfSignedCertificate(hosts: readonly string[] = ['localhost', '127.0.0.1']): SelfSignedCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(objectIdentifier(COMMON_NAME), tagged(0x0c, Buffer.from('test')))));
  const names = sequence(...hosts.map(generalName));
  const extensions = sequence(sequence(objectIdentifier(SUBJECT_ALTERNATIVE_NAME), tagged(0x04, names)));
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    name,
    sequence(utcTime(-1), utcTime(1)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, extensions),
  );
  const signature = sign('sha256', body, privateKey);
  const der = sequence(body, ECDSA_WITH_SHA256, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}

function tagged(tag: number, content: Buffer): Buffer {
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function set(part: Buffer): Buffer {
  return tagged(0x31, part);
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes);
}

function objectIdentifier(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'));
}

function generalName(host: string): Buffer {
  return isIPv4(host) ? tagged(0x87, Buffer.from(host.split('.').map(Number))) : tagged(0x82, Buffer.from(host));
}

function utcTime(daysFromNow: number): Buffer {
  const text = new Date(Date.now() + daysFromNow * 86_400_000).toISOString();
  return tagged(0x17, Buffer.from(`${text.slice(2, 19).replace(/[-:T]/g, '')}Z`));
}
