import { BoundedStore } from '../http/bounded-store';
import { nextId, unixSeconds } from '../http/ids';
import { readMultipart } from '../http/multipart';
import { jsonReply, type Call, type Reply } from '../http/reply';
import { SandboxError } from '../http/sandbox-error';

const MAXIMUM_FILES = 2_000;
const MAXIMUM_TOTAL_BYTES = 512 * 1024 * 1024;
const EXPIRES_AFTER_SECONDS = 30 * 86_400;

export interface StoredFile {
  readonly id: string;
  readonly filename: string;
  readonly purpose: string;
  readonly bytes: Buffer;
  readonly createdAt: number;
}

/** `/v1/files`: in memory, bounded by number and by bytes; the oldest file makes room. */
export class Files {
  private totalBytes = 0;
  private readonly files = new BoundedStore<StoredFile>(MAXIMUM_FILES, (file) => this.forget(file));

  create(call: Call): Reply {
    const form = readMultipart(call);
    const upload = form.file('file');
    const purpose = form.field('purpose');
    if (purpose === undefined || purpose === '') {
      throw new SandboxError(400, "Missing required parameter: 'purpose'", 'purpose');
    }
    // A copy, so that the rest of the form is not kept in memory.
    return jsonReply(describe(this.add(upload.filename, purpose, Buffer.from(upload.bytes))));
  }

  add(filename: string, purpose: string, bytes: Buffer): StoredFile {
    const file: StoredFile = { id: nextId('file-'), filename, purpose, bytes, createdAt: unixSeconds() };
    this.totalBytes += bytes.length;
    this.files.set(file.id, file);
    while (this.totalBytes > MAXIMUM_TOTAL_BYTES && this.files.size > 1) this.files.evictOldest();
    return file;
  }

  get(id: string): StoredFile {
    const file = this.files.get(id);
    if (!file) throw new SandboxError(404, 'No such File object', 'id');
    return file;
  }

  list(): Reply {
    return jsonReply({ object: 'list', data: this.files.list().slice(0, 1_000).map(describe), has_more: false });
  }

  show(call: Call): Reply {
    return jsonReply(describe(this.get(call.id)));
  }

  content(call: Call): Reply {
    const { bytes } = this.get(call.id);
    return { kind: 'body', status: 200, contentType: 'application/octet-stream', body: bytes };
  }

  remove(call: Call): Reply {
    const file = this.get(call.id);
    this.files.delete(file.id);
    this.forget(file);
    return jsonReply({ id: file.id, object: 'file', deleted: true });
  }

  private forget(file: StoredFile): void {
    this.totalBytes -= file.bytes.length;
  }
}

function describe(file: StoredFile): object {
  return {
    id: file.id,
    object: 'file',
    bytes: file.bytes.length,
    created_at: file.createdAt,
    expires_at: file.createdAt + EXPIRES_AFTER_SECONDS,
    filename: file.filename,
    purpose: file.purpose,
    status: 'processed',
    status_details: null,
  };
}
