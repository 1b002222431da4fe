import type { Picture, PictureSize } from './picture';

/**
 * H.264 without an encoder (ITU-T H.264, constrained baseline, level 3.0): every macroblock either carries its samples
 * as they are (I_PCM) or repeats the picture before it (P_Skip). Neither needs prediction, transform or entropy tables,
 * and every player reads both.
 */
export const PROFILE = 66;
export const CONSTRAINTS = 0xc0;
export const LEVEL = 30;

const NAL_SLICE = 0x41;
const NAL_IDR_SLICE = 0x65;
const NAL_SEQUENCE = 0x67;
const NAL_PICTURE = 0x68;
const SLICE_P = 5;
const SLICE_I = 7;
/** mb_type of I_PCM in an I slice; in a P slice the types of I slices follow the five of its own. */
const I_PCM = 25;
const I_PCM_IN_P = 30;
const FRAME_NUMBERS = 16;

/** Writes bits from the highest down, and the exponential Golomb codes of clause 9.1. */
class BitWriter {
  private bytes: Buffer;
  private length = 0;
  private current = 0;
  private filled = 0;

  constructor(capacity: number) {
    this.bytes = Buffer.alloc(capacity);
  }

  bits(value: number, count: number): void {
    for (let index = count - 1; index >= 0; index -= 1) {
      this.current = (this.current << 1) | ((value >>> index) & 1);
      this.filled += 1;
      if (this.filled === 8) this.push();
    }
  }

  unsigned(value: number): void {
    const length = 32 - Math.clz32(value + 1);
    this.bits(0, length - 1);
    this.bits(value + 1, length);
  }

  signed(value: number): void {
    this.unsigned(value > 0 ? 2 * value - 1 : -2 * value);
  }

  alignWithZeros(): void {
    while (this.filled !== 0) this.bits(0, 1);
  }

  /** Whole bytes; only where the writer is aligned. */
  samples(plane: Uint8Array, start: number, stride: number, side: number): void {
    this.reserve(side * side);
    for (let row = 0; row < side; row += 1) {
      this.bytes.set(plane.subarray(start + row * stride, start + row * stride + side), this.length);
      this.length += side;
    }
  }

  /** Ends with the stop bit and zeros up to the byte (rbsp_trailing_bits). */
  finish(): Buffer {
    this.bits(1, 1);
    this.alignWithZeros();
    return this.bytes.subarray(0, this.length);
  }

  private push(): void {
    this.reserve(1);
    this.bytes[this.length] = this.current;
    this.length += 1;
    this.current = 0;
    this.filled = 0;
  }

  private reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const larger = Buffer.alloc(Math.max(this.bytes.length * 2, this.length + count));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

/** Clause 7.3.2.1. Picture order follows decoding order (type 2); a picture not of whole macroblocks is cropped. */
export function sequenceParameterSet(size: PictureSize): Buffer {
  const writer = new BitWriter(64);
  writer.bits(PROFILE, 8);
  writer.bits(CONSTRAINTS, 8);
  writer.bits(LEVEL, 8);
  writer.unsigned(0); // seq_parameter_set_id
  writer.unsigned(Math.log2(FRAME_NUMBERS) - 4);
  writer.unsigned(2); // pic_order_cnt_type
  writer.unsigned(1); // max_num_ref_frames
  writer.bits(0, 1); // gaps_in_frame_num_value_allowed_flag
  writer.unsigned(size.columns - 1);
  writer.unsigned(size.rows - 1);
  writer.bits(1, 1); // frame_mbs_only_flag
  writer.bits(1, 1); // direct_8x8_inference_flag
  const right = (size.columns * 16 - size.width) / 2;
  const bottom = (size.rows * 16 - size.height) / 2;
  writer.bits(right + bottom > 0 ? 1 : 0, 1);
  if (right + bottom > 0) for (const offset of [0, right, 0, bottom]) writer.unsigned(offset);
  writer.bits(0, 1); // vui_parameters_present_flag
  return unit(NAL_SEQUENCE, writer.finish());
}

/** Clause 7.3.2.2. CAVLC, and leave for slices to switch the deblocking filter off. */
export function pictureParameterSet(): Buffer {
  const writer = new BitWriter(64);
  writer.unsigned(0); // pic_parameter_set_id
  writer.unsigned(0); // seq_parameter_set_id
  writer.bits(0, 2); // entropy_coding_mode_flag, bottom_field_pic_order_in_frame_present_flag
  writer.unsigned(0); // num_slice_groups_minus1
  writer.unsigned(0); // num_ref_idx_l0_default_active_minus1
  writer.unsigned(0); // num_ref_idx_l1_default_active_minus1
  writer.bits(0, 3); // weighted_pred_flag, weighted_bipred_idc
  writer.signed(0); // pic_init_qp_minus26
  writer.signed(0); // pic_init_qs_minus26
  writer.signed(0); // chroma_qp_index_offset
  writer.bits(0b100, 3); // deblocking_filter_control_present_flag, constrained_intra_pred_flag, redundant_pic_cnt
  return unit(NAL_PICTURE, writer.finish());
}

/** A picture that stands by itself. Two of them in a row need different `ordinal`s. */
export function keyPicture(picture: Picture, size: PictureSize, ordinal: number): Buffer {
  const count = size.columns * size.rows;
  const writer = new BitWriter(count * 388 + 64);
  writer.unsigned(0); // first_mb_in_slice
  writer.unsigned(SLICE_I);
  writer.unsigned(0); // pic_parameter_set_id
  writer.bits(0, Math.log2(FRAME_NUMBERS)); // frame_num
  writer.unsigned(ordinal % 2); // idr_pic_id
  writer.bits(0, 2); // no_output_of_prior_pics_flag, long_term_reference_flag
  writer.signed(0); // slice_qp_delta
  writer.unsigned(1); // disable_deblocking_filter_idc
  for (let block = 0; block < count; block += 1) {
    writer.unsigned(I_PCM);
    writeSamples(writer, picture, size, block);
  }
  return unit(NAL_IDR_SLICE, writer.finish());
}

/** A picture by its difference from the one before; `sinceKey` counts from 1 after the last key picture. */
export function deltaPicture(picture: Picture, before: Picture, size: PictureSize, sinceKey: number): Buffer {
  const writer = new BitWriter(4_096);
  writer.unsigned(0); // first_mb_in_slice
  writer.unsigned(SLICE_P);
  writer.unsigned(0); // pic_parameter_set_id
  writer.bits(sinceKey % FRAME_NUMBERS, Math.log2(FRAME_NUMBERS)); // frame_num
  writer.bits(0, 3); // num_ref_idx_active_override, ref_pic_list_modification_l0, adaptive_ref_pic_marking_mode
  writer.signed(0); // slice_qp_delta
  writer.unsigned(1); // disable_deblocking_filter_idc
  let skipped = 0;
  for (let block = 0; block < size.columns * size.rows; block += 1) {
    if (isUnchanged(picture, before, size, block)) {
      skipped += 1;
      continue;
    }
    writer.unsigned(skipped);
    writer.unsigned(I_PCM_IN_P);
    writeSamples(writer, picture, size, block);
    skipped = 0;
  }
  if (skipped > 0) writer.unsigned(skipped);
  return unit(NAL_SLICE, writer.finish());
}

function writeSamples(writer: BitWriter, picture: Picture, size: PictureSize, block: number): void {
  const { luma, chroma, stride } = blockPlace(size, block);
  writer.alignWithZeros();
  writer.samples(picture.luma, luma, stride, 16);
  writer.samples(picture.blue, chroma, stride / 2, 8);
  writer.samples(picture.red, chroma, stride / 2, 8);
}

function blockPlace(size: PictureSize, block: number): { luma: number; chroma: number; stride: number } {
  const stride = size.columns * 16;
  const row = Math.floor(block / size.columns);
  const column = block % size.columns;
  return { luma: row * 16 * stride + column * 16, chroma: (row * 8 * stride) / 2 + column * 8, stride };
}

function isUnchanged(picture: Picture, before: Picture, size: PictureSize, block: number): boolean {
  const { luma, chroma, stride } = blockPlace(size, block);
  return (
    isSameArea(picture.luma, before.luma, luma, stride, 16) &&
    isSameArea(picture.blue, before.blue, chroma, stride / 2, 8) &&
    isSameArea(picture.red, before.red, chroma, stride / 2, 8)
  );
}

function isSameArea(left: Uint8Array, right: Uint8Array, start: number, stride: number, side: number): boolean {
  for (let row = 0; row < side; row += 1) {
    for (let at = start + row * stride; at < start + row * stride + side; at += 1) {
      if (left[at] !== right[at]) return false;
    }
  }
  return true;
}

/** A NAL unit: its header, and the payload with a 3 put before every byte that would make it look like a start code. */
function unit(header: number, payload: Buffer): Buffer {
  const output = Buffer.alloc(payload.length * 2 + 1);
  output[0] = header;
  let length = 1;
  let zeros = 0;
  for (const byte of payload) {
    if (zeros >= 2 && byte <= 3) {
      output[length] = 3;
      length += 1;
      zeros = 0;
    }
    output[length] = byte;
    length += 1;
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return Buffer.from(output.subarray(0, length));
}
