"""A KV connector as vLLM has them, without a transport: some requests' blocks come from elsewhere, later."""

from vllm.config import KVTransferConfig
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1, KVConnectorMetadata

from fairway.vllm.plugin.schedulers import PolicyScheduler

NAME, REMOTE = "LoadsLater", "remote"


class LoadsLater(KVConnectorBase_V1):
    """Says of requests named ``remote...`` that all but their last block can be loaded; at once, if ``ready``."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.asked: set[str] = set()

    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        if not request.request_id.startswith(REMOTE) or request.request_id in self.asked:
            return 0, False
        self.asked.add(request.request_id)
        return (request.num_tokens - 1) // 16 * 16 - num_computed_tokens, "ready" not in request.request_id

    def update_state_after_alloc(self, request, blocks, num_external_tokens):
        pass

    def build_connector_meta(self, scheduler_output):
        return KVConnectorMetadata()

    def start_load_kv(self, forward_context, **named):
        raise AssertionError("no worker runs")

    wait_for_layer_load = save_kv_layer = wait_for_save = start_load_kv


class WithConnector(PolicyScheduler):
    """The plugin's scheduler of a server that was started with that connector."""

    def __init__(self, *, vllm_config, **arguments):
        if NAME not in KVConnectorFactory._registry:
            KVConnectorFactory.register_connector(NAME, __name__, NAME)
        vllm_config.scheduler_config.disable_hybrid_kv_cache_manager = True  # as vLLM asks of such a connector
        vllm_config.kv_transfer_config = KVTransferConfig(kv_connector=NAME, kv_role="kv_both")
        super().__init__(vllm_config=vllm_config, **arguments)
