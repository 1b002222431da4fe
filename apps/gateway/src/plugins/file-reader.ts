import { subtle } from 'node:crypto';
import { AppError } from '@libs/errors';
import type { FilePart } from '@libs/inference';
import type { Egress } from '@libs/platform';
import { bytesForText, countFetched, type Reserve } from '../http/fetched-bytes';
import type { OutsideWork } from '../parsers/outside-work';
import type { PdfReader } from '../parsers/pdf-reader';
import { isText } from '../server-tools/web-fetch-pages/page-reader';

const LARGEST_FILE = 32 * 1024 * 1024;
const TIMEOUT_MS = 30_000;
const PDF_START = Buffer.from('%PDF-');
/** Text for the model in place of the rest of a file that is too long. */
const CUT_NOTE = '(The rest of the file is left out.)';
const TEXT_NAME =
  /\.(txt|md|markdown|csv|tsv|json|jsonl|ndjson|xml|html?|ya?ml|toml|ini|log|rst|tex|sql|[jt]sx?|py|rb|go|rs|java|c|h|cpp|sh)$/i;

interface Bytes {
  readonly mediaType: string | null;
  readonly bytes: Buffer;
}

/** A file as text, and the hash of its bytes if that was asked for. */
export interface FileText {
  readonly text: string;
  readonly hash: string | null;
}

/** Turns files of requests into text. */
export class FileReader {
  constructor(
    private readonly egress: Egress,
    private readonly pdf: PdfReader,
  ) {}

  /**
   * @param known texts of files by the hash of their bytes, which are not read again; null: no hash is needed
   * @throws AppError invalid_request for a file that is neither PDF nor text, or cannot be read; the errors of outgoing
   * requests for a file by URL; provider_overloaded if there is no memory
   */
  async read(
    { name, source }: FilePart,
    work: OutsideWork,
    known: ReadonlyMap<string, string> | null,
  ): Promise<FileText> {
    if (source.kind === 'text') return { text: source.text, hash: null };
    const read = async (reserve: Reserve): Promise<FileText> => {
      const file =
        source.kind === 'url'
          ? await this.#fetch(source.url, work, reserve)
          : { mediaType: source.mediaType, bytes: Buffer.from(source.base64, 'base64') };
      const hash = known === null ? null : await hashOf(file.bytes);
      const text = hash === null ? undefined : known!.get(hash);
      return { text: text ?? (await this.#textOf(file, name, work)), hash };
    };
    return await countFetched(work.memory, read, bytesForFile);
  }

  async #textOf(file: Bytes, name: string | null, work: OutsideWork): Promise<string> {
    if (file.bytes.subarray(0, PDF_START.length).equals(PDF_START)) {
      const { text, isCut } = await this.pdf.read(file.bytes, work);
      return isCut ? `${text}\n\n${CUT_NOTE}` : text;
    }
    if (!isTextFile(file, name)) throw new AppError('invalid_request', 'The file is neither a PDF nor text');
    return new TextDecoder().decode(file.bytes);
  }

  async #fetch(url: string, { memory, signal }: OutsideWork, reserve: Reserve): Promise<Bytes> {
    const response = await this.egress.fetch(url, {
      maxBytes: LARGEST_FILE,
      timeoutMs: TIMEOUT_MS,
      maxRedirects: 3,
      holder: memory.holder,
      signal,
      subject: 'The URL of the file',
      reserve,
    });
    if (response.status !== 200) {
      throw new AppError('invalid_request', `The file cannot be fetched: its host answers ${response.status}`);
    }
    return { mediaType: response.headers['content-type']?.split(';')[0]?.trim() ?? null, bytes: response.body };
  }
}

/** Returns the bytes to reserve for a file: its text is in the prompt and, where its hash was asked for, in the answer. */
function bytesForFile({ text, hash }: FileText): number {
  return bytesForText(text) * (hash === null ? 1 : 2);
}

/** Does not block: a file may be large. */
async function hashOf(bytes: Buffer): Promise<string> {
  return Buffer.from(await subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex');
}

function isTextFile({ mediaType, bytes }: Bytes, name: string | null): boolean {
  if (bytes.subarray(0, 8_192).includes(0)) return false;
  return mediaType === null || mediaType === 'application/octet-stream'
    ? TEXT_NAME.test(name ?? '')
    : isText(mediaType.toLowerCase());
}
