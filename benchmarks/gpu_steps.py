"""Networks as their users write them: each function returns a module and the inputs of one step.

A module returns its loss.  Their steps were measured on an H100 and an H200
(``tests/prediction/recorded/h100_h200_steps.csv``); `measured_steps.py` forecasts them.
Those of `torchvision` need it.
"""

import itertools

import torch
from torch import nn
from torch.nn import functional


class Task(nn.Module):
    """A network and its loss."""

    def __init__(self, net, loss="cross_entropy"):
        super().__init__()
        self.net, self.loss = net, loss

    def forward(self, x, y):
        out = self.net(x)
        if self.loss == "mse":
            return functional.mse_loss(out, y)
        return functional.cross_entropy(
            out.flatten(0, -2) if out.dim() > 2 and y.dim() == 2 else out, y.flatten()
        )


def _images(batch, px=224, classes=1000):
    return torch.randn(batch, 3, px, px), torch.randint(0, classes, (batch,))


def _tokens(batch, length, vocab):
    return torch.randint(0, vocab, (batch, length)), torch.randint(0, vocab, (batch, length))


def _vision(name, batch, px=224):
    import torchvision

    return Task(getattr(torchvision.models, name)(weights=None)), *_images(batch, px)


def resnet18(batch_size=32):
    return _vision("resnet18", batch_size)


def resnet50(batch_size=32):
    return _vision("resnet50", batch_size)


def vgg11_bn(batch_size=32):
    return _vision("vgg11_bn", batch_size)


def mobilenet_v3_large(batch_size=32):
    return _vision("mobilenet_v3_large", batch_size)


def efficientnet_b0(batch_size=32):
    return _vision("efficientnet_b0", batch_size)


def convnext_tiny(batch_size=32):
    return _vision("convnext_tiny", batch_size)


def densenet121(batch_size=32):
    return _vision("densenet121", batch_size)


def vit_b_16(batch_size=32):
    return _vision("vit_b_16", batch_size)


def swin_t(batch_size=32):
    return _vision("swin_t", batch_size)


class UNet(nn.Module):
    def __init__(self, width=32, classes=4):
        super().__init__()
        w = [width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList(self._block(a, b) for a, b in zip([3, *w[:-1]], w, strict=False))
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(w[-2::-1], w[:0:-1], strict=False)
        )
        self.join = nn.ModuleList(self._block(2 * a, a) for a in w[-2::-1])
        self.head = nn.Conv2d(width, classes, 1)

    @staticmethod
    def _block(a, b):
        return nn.Sequential(
            nn.Conv2d(a, b, 3, padding=1, bias=False),
            nn.BatchNorm2d(b),
            nn.ReLU(inplace=True),
            nn.Conv2d(b, b, 3, padding=1, bias=False),
            nn.BatchNorm2d(b),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(x)
            if i < len(self.down) - 1:
                kept.append(x)
                x = functional.max_pool2d(x, 2)
        for up, join in zip(self.up, self.join, strict=False):
            x = join(torch.cat([up(x), kept.pop()], 1))
        return self.head(x)


class UNetTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = UNet()

    def forward(self, x, y):
        return functional.cross_entropy(self.net(x), y)


def unet(batch_size=8):
    return (
        UNetTask(),
        torch.randn(batch_size, 3, 256, 256),
        torch.randint(0, 4, (batch_size, 256, 256)),
    )


def _perceptron(sizes):
    layers = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def mlp_small(batch_size=256):
    return (
        Task(_perceptron([784, 512, 512, 10])),
        torch.randn(batch_size, 784),
        torch.randint(0, 10, (batch_size,)),
    )


def mlp_wide(batch_size=1024):
    net = _perceptron([1024, 4096, 4096, 4096, 4096, 4096, 1000])
    return Task(net), torch.randn(batch_size, 1024), torch.randint(0, 1000, (batch_size,))


class Recommender(nn.Module):
    """Embeddings of categories and numbers, crossed, then a perceptron (DLRM)."""

    def __init__(self, tables=16, rows=200_000, width=64):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = _perceptron([13, 512, 256, width])
        self.top = _perceptron([width + (tables + 1) * tables // 2, 1024, 512, 1])
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, numbers, categories, y):
        low = self.bottom(numbers)
        all_of = torch.stack([low, *(t(categories[:, i]) for i, t in enumerate(self.tables))], 1)
        crossed = torch.bmm(all_of, all_of.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return functional.binary_cross_entropy_with_logits(
            self.top(torch.cat([low, crossed], 1))[:, 0], y
        )


def recommender(batch_size=2048):
    categories = torch.randint(0, 200_000, (batch_size, 16, 4))
    return Recommender(), torch.randn(batch_size, 13), categories, torch.rand(batch_size)


class Encoder(nn.Module):
    """PyTorch's own encoder with a head over the vocabulary."""

    def __init__(self, vocab, width, heads, layers, length, dropout=0.1):
        super().__init__()
        self.token, self.place = (
            nn.Embedding(vocab, width),
            nn.Parameter(torch.zeros(length, width)),
        )
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab)

    def forward(self, x):
        return self.head(self.norm(self.layers(self.token(x) + self.place)))


def encoder_small(batch_size=32):
    return Task(Encoder(10_000, 512, 8, 6, 128)), *_tokens(batch_size, 128, 10_000)


def encoder_long(batch_size=4):
    return Task(Encoder(10_000, 512, 8, 6, 2048)), *_tokens(batch_size, 2048, 10_000)


class HuggingFace(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, y):
        return self.net(input_ids=x, labels=y, use_cache=False).loss


class HuggingFaceEncoder(HuggingFace):
    def forward(self, x, y):
        return self.net(input_ids=x, labels=y).loss


def bert_base(batch_size=16):
    from transformers import BertConfig, BertForMaskedLM

    return HuggingFaceEncoder(BertForMaskedLM(BertConfig())), *_tokens(batch_size, 256, 30_000)


def gpt2_small(batch_size=8):
    from transformers import GPT2Config, GPT2LMHeadModel

    return HuggingFace(GPT2LMHeadModel(GPT2Config())), *_tokens(batch_size, 512, 50_000)


def gpt2_medium(batch_size=4):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_embd=1024, n_layer=24, n_head=16)
    return HuggingFace(GPT2LMHeadModel(config)), *_tokens(batch_size, 1024, 50_000)


def llama_300m(batch_size=8):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32_000,
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=20,
        num_attention_heads=16,
        num_key_value_heads=4,
        max_position_embeddings=2048,
    )
    return HuggingFace(LlamaForCausalLM(config)), *_tokens(batch_size, 1024, 32_000)


class Recurrent(nn.Module):
    def __init__(self, kind, vocab=10_000, width=650, layers=2):
        super().__init__()
        self.token = nn.Embedding(vocab, width)
        self.cells = kind(width, width, layers, batch_first=True, dropout=0.2)
        self.head = nn.Linear(width, vocab)

    def forward(self, x):
        return self.head(self.cells(self.token(x))[0])


def lstm_lm(batch_size=64):
    return Task(Recurrent(nn.LSTM)), *_tokens(batch_size, 35, 10_000)


def gru_lm(batch_size=64):
    return Task(Recurrent(nn.GRU, width=1024)), *_tokens(batch_size, 100, 10_000)


class Sound(nn.Module):
    """Convolutions in one dimension over a wave of sound (M5)."""

    def __init__(self, width=64, classes=35):
        super().__init__()
        layers, a = (
            [nn.Conv1d(1, width, 80, stride=4), nn.BatchNorm1d(width), nn.ReLU(), nn.MaxPool1d(4)],
            width,
        )
        for b in (width, 2 * width, 4 * width):
            layers += [nn.Conv1d(a, b, 3), nn.BatchNorm1d(b), nn.ReLU(), nn.MaxPool1d(4)]
            a = b
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(a, classes)

    def forward(self, x):
        return self.head(self.layers(x).mean(-1))


def sound_cnn(batch_size=256):
    return Task(Sound()), torch.randn(batch_size, 1, 16_000), torch.randint(0, 35, (batch_size,))


class Volume(nn.Module):
    def __init__(self, width=16, classes=10):
        super().__init__()
        layers, a = [], 1
        for b in (width, 2 * width, 4 * width, 8 * width):
            layers += [nn.Conv3d(a, b, 3, padding=1), nn.BatchNorm3d(b), nn.ReLU(), nn.MaxPool3d(2)]
            a = b
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(a, classes)

    def forward(self, x):
        return self.head(self.layers(x).mean((2, 3, 4)))


def volume_cnn(batch_size=4):
    return (
        Task(Volume()),
        torch.randn(batch_size, 1, 96, 96, 96),
        torch.randint(0, 10, (batch_size,)),
    )
