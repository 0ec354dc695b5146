#include "tests/mutation/subjects.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "base/te/text.h"
#include "frontend/load_model.h"

namespace dlcc::mutation {

namespace {

constexpr std::pair<const char*, std::string_view> kModules[] = {
    {"gemm", R"(tensor A f32[40,100] input
tensor B f32[100,72] input
tensor C f32[40,72] output
inputs A B
outputs C
stmt gemm : reduce sum
  par i:40 j:72
  red k:100
  C[i, j] += A[i, k] * B[k, j]
)"},
    {"gemm_odd", R"(tensor A f32[13,19] input
tensor B f32[19,17] input
tensor bias f32[17] input
tensor C f32[13,17] intermediate
tensor D f32[13,17] output
inputs A B bias
outputs D
stmt gemm : reduce sum
  par i:13 j:17
  red k:19
  C[i, j] += A[i, k] * B[k, j]
stmt add : map
  par i:13 j:17
  D[i, j] = C[i, j] + bias[j]
)"},
    {"conv3x3_padded", R"(tensor X f32[12,14,14] input
tensor W f32[24,12,3,3] input
tensor B f32[24] input
tensor Y f32[24,14,14] intermediate
tensor Z f32[24,14,14] output
inputs X W B
outputs Z
stmt conv : reduce sum
  par co:24 oh:14 ow:14
  red ci:12 kh:3 kw:3
  Y[co, oh, ow] += X[ci, oh + kh - 1, ow + kw - 1 | 0] * W[co, ci, kh, kw]
stmt relu : map
  par co:24 oh:14 ow:14
  Z[co, oh, ow] = max(Y[co, oh, ow] + B[co], -3.5)
)"},
    {"conv_pool", R"(tensor X f32[2,16,16] input
tensor W f32[8,2,5,5] input
tensor Y f32[8,16,16] intermediate
tensor Z f32[8,8,8] output
inputs X W
outputs Z
stmt conv : reduce sum
  par co:8 oh:16 ow:16
  red ci:2 kh:5 kw:5
  Y[co, oh, ow] += X[ci, oh + kh - 2, ow + kw - 2 | 0] * W[co, ci, kh, kw]
stmt pool : reduce max
  par co:8 ph:8 pw:8
  red kh:2 kw:2
  Z[co, ph, pw] = Y[co, 2*ph + kh, 2*pw + kw]
)"},
    {"depthwise_stride2", R"(tensor X f32[24,15,15] input
tensor W f32[24,3,3] input
tensor Y f32[24,8,8] output
inputs X W
outputs Y
stmt depthwise : reduce sum
  par c:24 oh:8 ow:8
  red kh:3 kw:3
  Y[c, oh, ow] += X[c, 2*oh + kh - 1, 2*ow + kw - 1 | 0] * W[c, kh, kw]
)"},
    {"max_pool_padded", R"(tensor X f32[70,19,19] input
tensor Y f32[70,10,10] output
inputs X
outputs Y
stmt pool : reduce max
  par c:70 oh:10 ow:10
  red kh:3 kw:3
  Y[c, oh, ow] = X[c, 2*oh + kh - 1, 2*ow + kw - 1 | -inf]
)"},
    {"softmax_rows", R"(tensor X f32[150,37] input
tensor M f32[150] intermediate
tensor E f32[150,37] intermediate
tensor S f32[150] intermediate
tensor Y f32[150,37] output
inputs X
outputs Y
stmt top : reduce max
  par r:150
  red c:37
  M[r] = X[r, c]
stmt exp : map
  par r:150 c:37
  E[r, c] = exp(X[r, c] - M[r])
stmt total : reduce sum
  par r:150
  red c:37
  S[r] += E[r, c]
stmt divide : map
  par r:150 c:37
  Y[r, c] = E[r, c] / S[r]
)"},
    {"matmul_batched", R"(tensor A f32[4,21,24] input
tensor B f32[4,24,29] input
tensor C f32[4,21,29] output
inputs A B
outputs C
stmt matmul : reduce sum
  par b:4 i:21 j:29
  red k:24
  C[b, i, j] += A[b, i, k] * B[b, k, j]
)"},
    {"concat_slices", R"(tensor A f32[40,11] input
tensor B f32[40,30] input
tensor C f32[40,41] intermediate
tensor D f32[33,35] output
inputs A B
outputs D
stmt left : map
  par i:40 j:11
  C[i, j] = A[i, j] * 2
stmt right : map
  par i:40 j:30
  C[i, j + 11] = B[i, j]
stmt slice : map
  par i:33 j:35
  D[i, j] = C[i + 3, j + 5]
)"},
    {"transpose_add", R"(tensor X f32[50,64] input
tensor V f32[64] input
tensor Y f32[64,50] output
inputs X V
outputs Y
stmt transpose : map
  par i:64 j:50
  Y[i, j] = X[j, i] + V[i]
)"},
    {"elementwise_long", R"(tensor X f32[30011] input
tensor Y f32[30011] input
tensor Z f32[30011] output
inputs X Y
outputs Z
stmt blend : map
  par i:30011
  Z[i] = X[i] * 0.25 + max(Y[i], X[i])
)"},
    {"gather_rows", R"(tensor T f32[21,16] input
tensor I i64[75] input
tensor Y f32[75,16] output
inputs T I
outputs Y
stmt gather : map
  par i:75 j:16
  Y[i, j] = T[@I[i], j]
)"},
    {"gather_row_by_row", R"(tensor T f32[2000,24] input
tensor I i64[70] input
tensor Y f32[70,24] output
inputs T I
outputs Y
stmt gather : map
  par i:70 j:24
  Y[i, j] = T[@I[i], j]
)"},
    {"reduce_columns", R"(tensor X f32[90,130] input
tensor Y f32[130] output
inputs X
outputs Y
stmt mean : reduce sum
  par j:130
  red i:90
  Y[j] += X[i, j]
)"},
};

}  // namespace

Result<std::vector<Subject>> subjects(const std::string& shared, const std::vector<std::string>& models) {
  std::vector<Subject> out;
  for (const auto& [name, text] : kModules) {
    DLCC_TRY(te::Module module, te::parse_module(text, name));
    if (const std::vector<std::string> wrong = te::verify(module); !wrong.empty()) {
      return error(name, wrong.front());
    }
    out.push_back({name, {}, {}});
    out.back().definition.module = std::move(module);
  }
  for (const std::string& name : models) {
    const std::string file = shared + "/models/" + name + "/model.onnx";
    if (!std::filesystem::exists(file)) {
      continue;
    }
    DLCC_TRY(frontend::Graph graph, frontend::load_model(file, {}, nullptr));
    DLCC_TRY(frontend::Definition definition, frontend::define(graph));
    out.push_back({name, std::move(graph), std::move(definition)});
  }
  return out;
}

}  // namespace dlcc::mutation
