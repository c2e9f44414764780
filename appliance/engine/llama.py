"""The only module that calls llama.cpp: one model, one context, checked before every call.

llama.cpp aborts the process on many wrong arguments and writes past the ends of a batch without a word, so
everything is validated here first and refused with `EngineError`. Nothing here schedules or samples.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import llama_cpp
import numpy as np
import numpy.typing as npt

from appliance.errors import EngineError, ModelError

N_BATCH = 512
"""Most tokens in one decode: one micro-batch, so that a step is never split."""
MAX_OUTPUTS = 64
"""Rows of logits one decode may give, at least; 64 rows of a 262k vocabulary are 67 MB."""
MAX_SEQUENCES = 256

_LEVEL_WARN, _LEVEL_ERROR, _LEVEL_CONTINUED = 3, 4, 5


class Backend:
    """llama.cpp's process-wide state: its warnings and errors are written to stderr, errors are kept."""

    _kept: ClassVar[list[Backend]] = []
    """llama.cpp calls back until the process ends, so no callback may ever be collected."""

    def __init__(self) -> None:
        self._kept.append(self)
        self._errors: list[str] = []
        self._level = 0
        self._callback = llama_cpp.llama_log_callback(self._log)
        llama_cpp.llama_log_set(self._callback, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()

    def _log(self, level: int, text: bytes, _data: object) -> None:
        if level != _LEVEL_CONTINUED:
            self._level = level
        if self._level not in (_LEVEL_WARN, _LEVEL_ERROR):
            return
        sys.stderr.write(text.decode("utf-8", "replace"))
        sys.stderr.flush()
        if self._level == _LEVEL_ERROR and (line := text.decode("utf-8", "replace").strip()):
            self._errors.append(line[:300])

    def forget_errors(self) -> None:
        self._errors.clear()

    @property
    def complaint(self) -> str:
        """What llama.cpp said was wrong; the first lines are the ones that name the cause."""
        return "; ".join(self._errors[:3]) or "no reason given"

    @staticmethod
    def build() -> str:
        """Version of the binding and a hash of what llama.cpp says about its build."""
        told = llama_cpp.llama_print_system_info()
        return f"llama-cpp-python {llama_cpp.__version__} {hashlib.sha256(told).hexdigest()[:12]}"


class Model:
    """A loaded GGUF and its vocabulary."""

    def __init__(self, backend: Backend, path: Path, *, gpu_layers: int = 0, extra_buffers: bool = False):
        self.path = path
        self.backend = backend
        if gpu_layers and not llama_cpp.llama_supports_gpu_offload():
            # llama.cpp would leave the layers where they are without a word.
            raise EngineError(
                "this llama.cpp was built without a GPU",
                remedy="gpu_layers = 0, or build it again with APPLIANCE_CUDA=1",
            )
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = gpu_layers if gpu_layers >= 0 else 10_000
        params.use_extra_bufts = extra_buffers
        backend.forget_errors()
        self.handle = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
        if not self.handle:
            raise ModelError(
                f"{path}: llama.cpp cannot load this file: {backend.complaint}",
                remedy="check that the copy is complete and that it is a decoder-only text model in GGUF form",
            )
        self.vocab = llama_cpp.llama_model_get_vocab(self.handle)
        self._refuse_unsupported()
        self.n_vocab = int(llama_cpp.llama_vocab_n_tokens(self.vocab))
        self.n_ctx_train = int(llama_cpp.llama_model_n_ctx_train(self.handle))
        self.file_type = int(llama_cpp.llama_model_ftype(self.handle))
        self.bos = int(llama_cpp.llama_vocab_bos(self.vocab))
        self.add_bos = bool(llama_cpp.llama_vocab_get_add_bos(self.vocab))
        self.end_ids = self._read_end_ids()
        """Every id that ends a text."""
        self._pieces: dict[int, bytes] = {}

    def _refuse_unsupported(self) -> None:
        """Only a decoder whose memory is a plain KV cache can share prompts and drop sequences."""
        refused = {
            "encoder": llama_cpp.llama_model_has_encoder(self.handle),
            "recurrent": llama_cpp.llama_model_is_recurrent(self.handle),
            "hybrid recurrent": llama_cpp.llama_model_is_hybrid(self.handle),
            "diffusion": llama_cpp.llama_model_is_diffusion(self.handle),
        }
        for kind, found in refused.items():
            if found:
                raise ModelError(
                    f"{self.path}: {kind} models ({self.architecture}) are not supported",
                    remedy="use a decoder-only transformer (for example gemma3, llama, qwen2, qwen3)",
                )
        if int(llama_cpp.llama_vocab_n_tokens(self.vocab)) <= 0:
            raise ModelError(f"{self.path}: the file holds no vocabulary", remedy="use a complete GGUF")

    @property
    def architecture(self) -> str:
        return self.metadata("general.architecture")

    def metadata(self, key: str) -> str:
        """The value of a metadata key as text; empty when there is none."""
        buffer = ctypes.create_string_buffer(1024)
        length = llama_cpp.llama_model_meta_val_str(self.handle, key.encode(), buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace") if length >= 0 else ""

    def _read_end_ids(self) -> tuple[int, ...]:
        is_end = llama_cpp.llama_vocab_is_eog
        return tuple(token for token in range(self.n_vocab) if is_end(self.vocab, token))

    def tokenize(self, text: str, *, add_bos: bool, special: bool) -> tuple[int, ...]:
        """Ids of `text`; control tokens written out in it count as such only with `special`."""
        if add_bos and self.bos < 0:
            raise EngineError(
                f"{self.path}: the vocabulary has no begin-of-text token", remedy="add_bos=False"
            )
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise EngineError(f"the text to tokenize is not valid Unicode: {error}") from None
        room = len(data) + 8
        ids = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self.vocab, data, len(data), ids, room, False, special)
        if count < 0:
            raise EngineError(f"llama.cpp could not tokenize {len(data)} bytes")
        return ((self.bos,) if add_bos else ()) + tuple(ids[:count])

    def piece(self, token: int) -> bytes:
        """The bytes one id adds to a text; empty for control tokens."""
        found = self._pieces.get(token)
        if found is None:
            self.check_ids((token,))
            found = self._pieces[token] = self._read_piece(token)
        return found

    def _read_piece(self, token: int) -> bytes:
        room = 256
        while True:
            buffer = ctypes.create_string_buffer(room)
            length = llama_cpp.llama_token_to_piece(self.vocab, token, buffer, room, 0, False)
            if length >= 0:
                return buffer.raw[:length]
            room = -length

    def check_ids(self, ids: Sequence[int]) -> None:
        if ids and (min(ids) < 0 or max(ids) >= self.n_vocab):
            raise EngineError(f"a token id is outside the vocabulary of {self.n_vocab}")

    def close(self) -> None:
        llama_cpp.llama_model_free(self.handle)


class Batch:
    """Tokens for one decode, in memory of fixed size. Refuses what llama.cpp would write past the end of."""

    def __init__(self, max_outputs: int, capacity: int = N_BATCH) -> None:
        self.capacity = capacity
        self.max_outputs = max_outputs
        self.n_tokens = 0
        self.n_outputs = 0
        self._tokens = np.zeros(capacity, np.int32)
        self._positions = np.zeros(capacity, np.int32)
        self._counts = np.ones(capacity, np.int32)
        self._sequences = np.zeros(capacity, np.int32)
        step = self._sequences.itemsize
        self._pointers = np.arange(capacity, dtype=np.uint64) * step + self._sequences.ctypes.data
        self._outputs = np.zeros(capacity, np.int8)
        self.raw = self._struct()

    def _struct(self) -> llama_cpp.llama_batch:
        """llama.cpp's view of our arrays: a batch made by `llama_batch_init` would only be filled item by item."""
        kinds = dict(llama_cpp.llama_batch._fields_)
        raw = llama_cpp.llama_batch()
        for name, values in (
            ("token", self._tokens),
            ("pos", self._positions),
            ("n_seq_id", self._counts),
            ("seq_id", self._pointers),
            ("logits", self._outputs),
        ):
            setattr(raw, name, ctypes.cast(values.ctypes.data, kinds[name]))
        return raw

    @property
    def room(self) -> int:
        return self.capacity - self.n_tokens

    def clear(self) -> None:
        self.n_tokens = 0
        self.n_outputs = 0

    def add(self, ids: Sequence[int], first_position: int, sequence: int, n_outputs: int) -> None:
        """Append `ids` at consecutive positions; the last `n_outputs` of them give a row of logits."""
        count = len(ids)
        if not 0 < count <= self.room:
            raise EngineError(f"{count} tokens do not fit a batch with room for {self.room}")
        if not 0 <= n_outputs <= count or self.n_outputs + n_outputs > self.max_outputs:
            raise EngineError(f"a batch gives at most {self.max_outputs} rows of logits")
        positions = range(first_position, first_position + count)
        self._put(ids, positions, sequence)
        self._outputs[self.n_tokens - n_outputs : self.n_tokens] = 1
        self.n_outputs += n_outputs

    def add_rows(self, ids: Sequence[int], positions: Sequence[int], sequences: Sequence[int]) -> None:
        """Append one token of each of many sequences, each with a row of logits."""
        count = len(ids)
        if count > self.room or self.n_outputs + count > self.max_outputs:
            raise EngineError(f"{count} rows do not fit a batch with room for {self.room}")
        self._put(ids, positions, sequences)
        self._outputs[self.n_tokens - count : self.n_tokens] = 1
        self.n_outputs += count

    def _put(self, ids: Sequence[int], positions: Sequence[int], sequences: Sequence[int] | int) -> None:
        place = slice(self.n_tokens, self.n_tokens + len(ids))
        self._tokens[place] = ids
        self._positions[place] = positions
        self._sequences[place] = sequences
        self._outputs[place] = 0
        self.n_tokens += len(ids)


class Adapter:
    """A loaded LoRA adapter; belongs to its model and must be freed only after another one is set."""

    def __init__(self, model: Model, path: Path) -> None:
        self.path = path
        model.backend.forget_errors()
        self.handle = llama_cpp.llama_adapter_lora_init(model.handle, os.fsencode(path))
        if not self.handle:
            raise EngineError(
                f"{path}: llama.cpp cannot load this adapter: {model.backend.complaint}",
                remedy="export it again for this base model",
            )

    def metadata(self, key: str) -> str:
        """The value of a metadata key as text; empty when there is none."""
        buffer = ctypes.create_string_buffer(1024)
        length = llama_cpp.llama_adapter_meta_val_str(self.handle, key.encode(), buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace") if length >= 0 else ""

    def free(self) -> None:
        llama_cpp.llama_adapter_lora_free(self.handle)


class Context:
    """One KV cache shared by all sequences, and the logits of the last decode.

    Unified cells (a shared prompt costs nothing and may be any range) and the full-size cache for sliding-window
    layers: with the small one a prompt longer than the window could not be shared. Flash attention skips what
    belongs to other sequences but rounds keys and values to F16; `exact` does without and keeps them in F32.
    """

    def __init__(
        self, model: Model, *, cells: int, sequences: int, threads: int, exact: bool = False
    ) -> None:
        if not 0 < sequences <= MAX_SEQUENCES:
            raise EngineError(f"{sequences} sequences are outside 1..{MAX_SEQUENCES}")
        self._model = model
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = cells
        params.n_batch = params.n_ubatch = N_BATCH
        params.n_seq_max = sequences
        # Compute buffers are sized by this, and one row more than promised aborts: Batch is given the same number.
        self.max_outputs = max(sequences, MAX_OUTPUTS)
        params.n_outputs_max = params.n_outputs_max_per_seq = self.max_outputs
        params.n_threads = params.n_threads_batch = threads
        params.swa_full = params.kv_unified = True
        params.flash_attn_type = (
            llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED if exact else llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        )
        if exact:
            params.type_k = params.type_v = llama_cpp.GGML_TYPE_F32
        model.backend.forget_errors()
        self.handle = llama_cpp.llama_init_from_model(model.handle, params)
        if not self.handle:
            raise EngineError(
                f"{model.path}: no context of {cells} cells: {model.backend.complaint}",
                remedy="lower the context or the slots, or free memory",
            )
        self.memory = llama_cpp.llama_get_memory(self.handle)
        self.n_ctx = int(llama_cpp.llama_n_ctx(self.handle))
        self.n_sequences = sequences
        self.n_rows = 0

    def decode(self, batch: Batch) -> None:
        """Evaluate `batch`; anything but success is an error after which the memory must be cleared."""
        if not 0 < batch.n_tokens <= N_BATCH:
            raise EngineError(f"a decode takes 1 to {N_BATCH} tokens, not {batch.n_tokens}")
        used = slice(0, batch.n_tokens)
        self._model.check_ids((int(batch._tokens[used].min()), int(batch._tokens[used].max())))
        self._check_sequence(int(batch._sequences[used].min()))
        self._check_sequence(int(batch._sequences[used].max()))
        batch.raw.n_tokens = batch.n_tokens
        self.n_rows = 0
        code = llama_cpp.llama_decode(self.handle, batch.raw)
        if code != 0:
            raise EngineError(f"llama_decode returned {code} for a batch of {batch.n_tokens} tokens")
        self.n_rows = batch.n_outputs

    def logits(self) -> npt.NDArray[np.float32]:
        """The rows asked for in the last decode, in batch order: a view that the next decode overwrites."""
        if self.n_rows == 0:
            return np.empty((0, self._model.n_vocab), np.float32)
        pointer = llama_cpp.llama_get_logits(self.handle)
        return np.ctypeslib.as_array(
            ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float)), (self.n_rows, self._model.n_vocab)
        )

    def share(self, source: int, target: int, length: int) -> None:
        """Let `target`, which must be empty, hold the first `length` cells of `source` too."""
        self._check_sequence(source)
        self._check_sequence(target)
        if length <= 0 or llama_cpp.llama_memory_seq_pos_max(self.memory, source) + 1 < length:
            raise EngineError(f"sequence {source} does not hold {length} positions to share")
        if llama_cpp.llama_memory_seq_pos_max(self.memory, target) >= 0:
            raise EngineError(f"sequence {target} is not empty")
        llama_cpp.llama_memory_seq_cp(self.memory, source, target, 0, length)

    def drop(self, sequence: int) -> None:
        """Forget a sequence; cells it shares stay with the others."""
        self._check_sequence(sequence)
        llama_cpp.llama_memory_seq_rm(self.memory, sequence, -1, -1)

    def clear(self) -> None:
        """Forget every sequence."""
        # The cells only have to be free: writing zeros over the whole cache would cost more than a decode.
        llama_cpp.llama_memory_clear(self.memory, False)

    def set_adapter(self, adapter: Adapter | None) -> None:
        """Replace the active adapter; None runs the base. The caller clears the memory."""
        count = 0 if adapter is None else 1
        handles = (llama_cpp.llama_adapter_lora_p_ctypes * 1)(adapter.handle if adapter else None)
        scales = (ctypes.c_float * 1)(1.0)
        if llama_cpp.llama_set_adapters_lora(self.handle, handles, count, scales) != 0:
            raise EngineError(f"llama.cpp refused the adapter {adapter.path if adapter else None}")

    def close(self) -> None:
        llama_cpp.llama_free(self.handle)

    def _check_sequence(self, sequence: int) -> None:
        if not 0 <= sequence < self.n_sequences:
            raise EngineError(f"sequence {sequence} is outside 0..{self.n_sequences - 1}")
